"""Files that move between the folders of a glob, or have several names in it: every row once, or it is told."""

import os
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


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def tailing(request, tmp_path):
    return Tailing(tmp_path, request.param)


def switch(link, target):
    """Have a symlink lead elsewhere, at once."""
    link.with_name("new").symlink_to(target)
    link.with_name("new").replace(link)


@pytest.mark.parametrize("look", [False, True], ids=["at once", "with a look between"])
@pytest.mark.parametrize("current", ["current.csv", "a.csv"], ids=["after the files", "before them"])
def test_a_file_with_a_symlink_in_the_glob_is_read_once_whichever_file_that_leads_to(tailing, tmp_path, current, look, capfd):
    read, written = [], []
    for number in range(1, 4):
        for part in range(2):
            lines = [f"{number} {part} {line}" for line in range(3)]
            write(tmp_path / f"app-{number}.csv", *lines)
            written += lines
            if look and not part:
                read += tailing.epoch()
            switch(tmp_path / current, f"app-{number}.csv")
            read += tailing.epoch()
        write(tmp_path / f"app-{number}.csv", f"last of {number}")
        written.append(f"last of {number}")
    read += tailing.epoch()
    assert sorted(read) == sorted(written)
    assert "WARNING" not in capfd.readouterr().err
    (tmp_path / current).unlink()
    write(tmp_path / "app-3.csv", "more")
    assert tailing.epoch() == ["more"]


def test_what_was_read_under_a_symlink_is_read_on_under_its_own_name(tmp_path, capfd):
    """As where a version of the job takes in more files."""
    write(tmp_path / "app-1.csv", "1", "2")
    (tmp_path / "current.csv").symlink_to("app-1.csv")
    before, tailing = Tailing(tmp_path, glob="current.csv"), Tailing(tmp_path)
    assert before.epoch() == ["1", "2"]
    tailing.offset = before.offset
    write(tmp_path / "app-1.csv", "3")
    assert tailing.epoch() == ["3"]
    write(tmp_path / "app-1.csv", "4")
    write(tmp_path / "app-2.csv", "5")
    switch(tmp_path / "current.csv", "app-2.csv")
    assert tailing.epoch() == ["4", "5"]
    assert tailing.offset["files"].keys() == {"app-1.csv", "app-2.csv"}
    assert "WARNING" not in capfd.readouterr().err


def test_the_files_of_a_symlinked_folder_are_read_once(tmp_path):
    tailing = Tailing(tmp_path, glob="*/*.csv")
    for day in ("2024", "2025"):
        (tmp_path / day).mkdir()
        write(tmp_path / day / "a.csv", f"{day} 1")
        switch(tmp_path / "1", day)
        assert tailing.epoch() == [f"{day} 1"]
        write(tmp_path / day / "a.csv", f"{day} 2")
        assert tailing.epoch() == [f"{day} 2"]


@pytest.mark.parametrize("look", [False, True], ids=["at once", "with a look between"])
def test_a_file_that_rotates_by_a_second_link_is_read_once(tailing, tmp_path, look):
    write(tmp_path / "a.csv", "1")
    assert tailing.epoch() == ["1"]
    (tmp_path / "a.1.csv").hardlink_to(tmp_path / "a.csv")
    write(tmp_path / "a.csv", "2")
    read = tailing.epoch() if look else []
    write(tmp_path / "new", "3")
    (tmp_path / "new").replace(tmp_path / "a.csv")
    write(tmp_path / "a.1.csv", "4")
    assert sorted(read + tailing.epoch()) == ["2", "3", "4"]


def test_a_file_that_a_former_release_has_read_under_two_names_is_read_on_under_one(tailing, tmp_path):
    write(tmp_path / "app-1.csv", "1")
    assert tailing.epoch() == ["1"]
    position, mark = tailing.offset["files"]["app-1.csv"]
    length, head, _, inode, tail = mark.split(":")
    tailing.offset["files"]["current.csv"] = [position, f"{length}:{head}:1:{inode}:{tail}"]
    (tmp_path / "current.csv").symlink_to("app-1.csv")
    for line in "23":
        write(tmp_path / "app-1.csv", line)
        assert tailing.epoch() == [line]


def test_a_symlink_that_leads_to_a_file_which_was_not_listed_yet_loses_and_doubles_nothing(tailing, tmp_path, monkeypatch):
    write(tmp_path / "app-1.csv", "1")
    switch(tmp_path / "current.csv", "app-1.csv")
    assert tailing.epoch() == ["1"]
    write(tmp_path / "app-2.csv", "2")
    switch(tmp_path / "current.csv", "app-2.csv")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", lambda folder, pattern: iter([folder / "app-1.csv", folder / "current.csv"]))
        assert tailing.epoch() == ["2"]
    write(tmp_path / "app-2.csv", "3")
    assert tailing.epoch() == ["3"]
    write(tmp_path / "app-2.csv", "4")
    write(tmp_path / "app-3.csv", "5")
    switch(tmp_path / "current.csv", "app-3.csv")
    assert tailing.epoch() == ["4", "5"]


@pytest.mark.parametrize("anew", [False, True], ids=["one reader", "a reader an epoch"])
def test_a_file_that_was_written_anew_and_rotates_out_of_the_glob_before_its_turn_is_read(tmp_path, capfd, anew):
    tailing = Tailing(tmp_path, anew)
    write(tmp_path / "b.csv", "old one")
    assert tailing.epoch() == ["old one"]
    (tmp_path / "b.csv").write_text("new")
    assert tailing.epoch() == [], "there is no whole line yet"
    assert "'b.csv' was truncated or replaced" in capfd.readouterr().err
    write(tmp_path / "b.csv", " 1", "new 2")
    (tmp_path / "b.csv").rename(tmp_path / "b.csv.1")
    write(tmp_path / "b.csv", "latest")
    assert tailing.epoch() == ["latest", "new 1", "new 2"]


def test_a_file_that_is_written_anew_twice_before_its_turn_is_read_as_it_is_then(tmp_path):
    tailing = Tailing(tmp_path)
    write(tmp_path / "b.csv", "old one")
    tailing.epoch()
    for text in ("new", "other", "a"):
        (tmp_path / "b.csv").write_text(text)
        assert tailing.epoch() == []
    write(tmp_path / "b.csv", " line")
    assert tailing.epoch() == ["a line"]


def test_files_without_inodes_are_no_links(tmp_path, monkeypatch):
    real = os.stat
    tailing = Tailing(tmp_path)

    def without_inode(path, **options):
        facts = real(path, **options)
        return os.stat_result((facts.st_mode, 0, *facts[2:10]))

    for name in "abc":
        write(tmp_path / f"{name}.csv", name)
    monkeypatch.setattr(os, "stat", without_inode)
    assert tailing.epoch() == ["a", "b", "c"]


def test_a_further_link_of_a_file_keeps_no_other_file_from_being_read(tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / name).mkdir()
    tailing = Tailing(tmp_path, glob="*/*.csv")
    write(tmp_path / "a/x.csv", "1")
    assert tailing.epoch() == ["1"]
    os.link(tmp_path / "a/x.csv", tmp_path / "b/x.csv")
    # A former release had read the file under both names.
    tailing.offset = {"files": {"a/x.csv": tailing.offset["files"]["a/x.csv"], "b/x.csv": tailing.offset["files"]["a/x.csv"]}}
    (tmp_path / "a/x.csv").unlink()
    os.link(tmp_path / "b/x.csv", tmp_path / "c/x.csv")
    write(tmp_path / "a/x.csv", "2")
    assert [line for _ in range(3) for line in tailing.epoch()] == ["2"]
