"""Files that move between the folders of a glob, or have several names in it: every row once, or it is told."""

from pathlib import Path

import pytest

from tests.unit.sources.test_csv_rotation import Tailing, lines_of, planned, write


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def below(request, tmp_path):
    """Reads the files of the folders 'live' and 'done'."""
    for name in ("live", "done"):
        (tmp_path / name).mkdir()
    return Tailing(tmp_path, request.param, glob="*/*.csv")


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
def test_a_file_that_moves_to_another_folder_of_the_glob_before_it_is_read_is_read_there(below, tmp_path, capfd, restarted):
    write(tmp_path / "live/a.csv", "1", "2")
    write(tmp_path / "done/b.csv", "other")
    write(tmp_path / "done/other.txt", "1", "2")
    parts = planned(below)
    (tmp_path / "live/a.csv").rename(tmp_path / "done/a.csv")
    if restarted:
        below = Tailing(tmp_path, glob="*/*.csv")
    assert lines_of(below, parts) == ["1", "2", "other"]
    assert "lost" not in capfd.readouterr().err


def test_a_file_that_is_gone_is_not_taken_for_another_one_of_the_glob(below, tmp_path, capfd):
    write(tmp_path / "live/a.csv", "1", "2")
    parts = planned(below)
    (tmp_path / "live/a.csv").rename(tmp_path / "done/a.csv")
    (tmp_path / "done/a.csv").write_text("3\n4\n")
    assert lines_of(below, parts) == []
    assert "4 bytes are lost" in capfd.readouterr().err


def while_listed(monkeypatch, step):
    """Do a step in the midst of the first listing of a glob: once its folder 'done' has been listed, and before 'live' is."""
    real, steps = Path.glob, [step]

    def listing(folder, pattern):
        found = sorted(real(folder, pattern))
        if steps:
            steps.pop()()
            found = [path for path in found if path.parent.name == "done" or path.exists()]
        return iter(found)

    monkeypatch.setattr(Path, "glob", listing)


@pytest.mark.parametrize("anew", [False, True], ids=["moved", "and begun anew"])
@pytest.mark.parametrize("over", [False, True], ids=["a new name", "over another one"])
def test_a_file_that_moves_to_another_folder_of_the_glob_while_that_is_listed_is_read_once(
    below, tmp_path, monkeypatch, anew, over
):
    write(tmp_path / "live/a.csv", "1", "2")
    if over:
        write(tmp_path / "done/a.csv", "old")
    assert below.epoch() == ["1", "2"] + ["old"] * over
    write(tmp_path / "live/a.csv", "3")

    def move():
        (tmp_path / "live/a.csv").rename(tmp_path / "done/a.csv")
        if anew:
            write(tmp_path / "live/a.csv", "new")

    with monkeypatch.context() as patch:
        while_listed(patch, move)
        read = below.epoch()
    assert read + below.epoch() + below.epoch() == ["3"] + ["new"] * anew
    write(tmp_path / "done/a.csv", "4")
    assert below.epoch() == ["4"]


def test_a_truncated_file_is_not_followed_out_of_the_glob_where_its_inode_may_be_any_files(tmp_path, capfd):
    tailing = Tailing(tmp_path)
    write(tmp_path / "a.csv", "1", "2")
    assert tailing.epoch() == ["1", "2"]
    (tmp_path / "a.csv").write_text("")
    assert tailing.epoch() == []
    (tmp_path / "a.csv").rename(tmp_path / "other")
    write(tmp_path / "other", "no", "row")
    assert tailing.epoch() == []
    assert tailing.offset["files"] == {}
    assert "File 'a.csv' is gone; it was read up to byte 0." in capfd.readouterr().err


def test_a_truncated_file_is_followed_within_the_glob(tmp_path):
    tailing = Tailing(tmp_path)
    write(tmp_path / "a.csv", "1", "2")
    assert tailing.epoch() == ["1", "2"]
    (tmp_path / "a.csv").write_text("")
    assert tailing.epoch() == []
    write(tmp_path / "a.csv", "3")
    (tmp_path / "a.csv").rename(tmp_path / "b.csv")
    assert tailing.epoch() == ["3"]


@pytest.mark.parametrize("name", ["a.1.csv", "a.csv.1"], ids=["in the glob", "out of it"])
def test_a_rotated_file_that_the_next_rotation_writes_over_is_told(tmp_path, capfd, name):
    tailing = Tailing(tmp_path)
    write(tmp_path / "a.csv", "1")
    assert tailing.epoch() == ["1"]
    (tmp_path / "a.csv").rename(tmp_path / name)
    write(tmp_path / "a.csv", "2")
    assert tailing.epoch() == ["2"]
    write(tmp_path / name, "1, last")
    (tmp_path / "a.csv").rename(tmp_path / name)
    write(tmp_path / name, "2, last")
    assert tailing.epoch() == ["2, last"]
    assert f"File '{name}' is gone; it was read up to byte 2." in capfd.readouterr().err
