"""A job whose next version reads other files of a folder than this one."""

import json

import pytest

from pitstop.spark.sources.csv_names import matches
from tests.unit.sources.test_csv_multiline import updated
from tests.unit.sources.test_csv_rotation import Tailing, write


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def all_files(request, tmp_path):
    tailing = Tailing(tmp_path, request.param)
    for name in ("a.csv", "b.csv", "c.csv"):
        write(tmp_path / name, f"{name} 1")
    assert tailing.epoch() == ["a.csv 1", "b.csv 1", "c.csv 1"]
    return tailing


def test_what_the_next_version_does_not_take_in_is_read_no_further(all_files, tmp_path, capfd):
    (tmp_path / "c.csv").rename(tmp_path / "c.csv.1")
    assert all_files.epoch() == []
    later = updated(all_files, glob="a*.csv")
    for name in ("a.csv", "b.csv", "c.csv.1"):
        write(tmp_path / name, f"{name} 2")
    assert later.epoch() == ["a.csv 2", "c.csv.1 2"]
    told = "File 'b.csv' is read no further than byte 8: the source takes in files of 'a*.csv' now."
    assert capfd.readouterr().err.count(told) == 1
    later.offset = json.loads(json.dumps(later.offset))
    write(tmp_path / "b.csv", "b.csv 3")
    assert later.epoch() == []
    assert "b.csv" not in later.offset["files"]


def test_what_rotates_while_a_version_comes_that_takes_in_less_is_read_to_its_end(all_files, tmp_path):
    later = updated(all_files, glob="a.csv")
    for name in ("a", "b"):
        write(tmp_path / f"{name}.csv", f"{name}.csv 2")
        (tmp_path / f"{name}.csv").rename(tmp_path / f"{name}.1.csv")
    write(tmp_path / "a.csv", "a.csv 3")
    assert later.epoch() == ["a.csv 2", "a.csv 3"]
    for name in ("a.1", "b.1", "c"):
        write(tmp_path / f"{name}.csv", name)
    assert later.epoch() == ["a.1"]


def test_a_file_that_gets_a_name_which_the_next_version_takes_in_is_read_on(all_files, tmp_path):
    later = updated(all_files, glob="a*.csv")
    write(tmp_path / "b.csv", "b.csv 2")
    (tmp_path / "b.csv").rename(tmp_path / "a.2.csv")
    assert later.epoch() == ["b.csv 2"]


def test_a_file_is_read_on_by_the_link_that_the_next_version_takes_in(all_files, tmp_path, capfd):
    (tmp_path / "link.csv").symlink_to("b.csv")
    assert all_files.epoch() == []
    later = updated(all_files, glob="link.csv")
    for line in "23":
        write(tmp_path / "b.csv", line)
        assert later.epoch() == [line]
    assert later.offset["files"].keys() == {"link.csv"}
    assert "'b.csv' is read no further" not in capfd.readouterr().err


def test_a_link_that_a_former_release_has_read_too_is_no_file_that_is_left_out(all_files, tmp_path, capfd):
    (tmp_path / "link.csv").symlink_to("a.csv")
    all_files.offset["files"]["link.csv"] = all_files.offset["files"]["a.csv"]
    later = updated(all_files, glob="a.csv")
    write(tmp_path / "a.csv", "2")
    assert later.epoch() == ["2"]
    assert later.offset["files"].keys() == {"a.csv"}
    assert "link.csv" not in capfd.readouterr().err


def test_what_comes_again_with_a_wider_glob_is_read_anew(all_files, tmp_path):
    later = updated(all_files, glob="a*.csv")
    write(tmp_path / "a.csv", "a.csv 2")
    assert later.epoch() == ["a.csv 2"]
    assert updated(later).epoch() == ["b.csv 1", "c.csv 1"]


def test_an_offset_that_does_not_tell_its_glob_keeps_all_files(all_files, tmp_path):
    del all_files.offset["glob"]
    later = updated(all_files, glob="a*.csv")
    assert later.epoch() == []
    assert later.offset == all_files.offset
    write(tmp_path / "b.csv", "b.csv 2")
    assert later.epoch() == ["b.csv 2"]


@pytest.mark.parametrize(
    "glob", ["*.csv", "a/*.csv", "*/*.csv", "**/*.csv", "a/**/x?.csv", "./*", "[!x]*", "**/b/*", "*/b/../*.csv"]
)
def test_a_name_matches_a_glob_as_the_files_do_that_are_found_with_it(tmp_path, glob):
    for folder in (tmp_path, tmp_path / "a", tmp_path / "a/b", tmp_path / "B"):
        folder.mkdir(exist_ok=True)
        for name in ("x1.csv", "y.CSV", ".hidden.csv", "z.csv"):
            (folder / name).touch()
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.glob(glob) if path.is_file()}
    assert {name for name in files | found if matches(name, glob)} == found
