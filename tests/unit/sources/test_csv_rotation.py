"""Files that are renamed, replaced or copied while they are read: every row once, or it is told."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from pitstop.spark.base.away import SourceAwayError
from pitstop.spark.sources import csv_marks
from pitstop.spark.sources.csv_marks import Mark
from pitstop.spark.sources.csv_plan import FolderPlan
from pitstop.spark.sources.csv_tail import CsvTailReader
from pitstop.spark.sources.shared import SourceOptions
from tests.unit.sources.test_csv_plan import Log


class Tailing:
    """Reads a folder as Spark would, epoch by epoch, each by a reader of its own if ``anew``."""

    def __init__(self, folder, anew=False, **options):
        self.folder, self.anew = folder, anew
        self.options = {"path": str(folder)} | options
        self.reader = self._reader()
        self.offset = self.reader.initialOffset()

    def _reader(self):
        return CsvTailReader(SourceOptions("csv_tail", self.options))

    def epoch(self, meanwhile=lambda: None):
        """The lines of the next epoch; ``meanwhile`` happens between its planning and its reading."""
        if self.anew:
            self.reader = self._reader()
        start, self.offset = self.offset, self.reader.latestOffset(self.offset, None)
        meanwhile()
        parts = self.reader.partitions(start, self.offset)
        return sorted(row["value"] for part in parts for batch in self.reader.read(part) for row in batch.to_pylist())


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def tailing(request, tmp_path):
    return Tailing(tmp_path, request.param)


def write(path, *lines):
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def numbered(name, first, last):
    return [f"{name} {number:04d}" for number in range(first, last)]


def test_a_file_that_rotates_within_the_glob_is_read_once(tailing, tmp_path):
    read, written = [], []
    for turn in range(5):
        for part in range(2):
            lines = numbered(f"turn {turn}", part * 20, part * 20 + 20)
            write(tmp_path / "rot.csv", *lines)
            written += lines
            if part == 0:
                read += tailing.epoch()
        for number in range(turn, 0, -1):
            (tmp_path / f"rot.{number}.csv").rename(tmp_path / f"rot.{number + 1}.csv")
        (tmp_path / "rot.csv").rename(tmp_path / "rot.1.csv")
    read += tailing.epoch()
    assert sorted(read) == sorted(written)


def test_what_was_written_before_a_rotation_out_of_the_glob_is_read(tailing, tmp_path, capfd):
    write(tmp_path / "a.csv", "1")
    assert tailing.epoch() == ["1"]
    write(tmp_path / "a.csv", "2")
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
    write(tmp_path / "a.csv", "3")
    assert tailing.epoch() == ["2", "3"]
    write(tmp_path / "a.csv.1", "4")
    assert tailing.epoch() == ["4"]
    (tmp_path / "a.csv.1").unlink()
    assert tailing.epoch() == []
    assert list(tailing.offset["files"]) == ["a.csv"]
    assert "is gone; it was read up to byte 6." in capfd.readouterr().err


def test_a_file_that_rotates_between_planning_and_reading_is_read_under_its_new_name(tailing, tmp_path, capfd):
    write(tmp_path / "a.csv", "1", "2")

    def rotate():
        (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
        write(tmp_path / "a.csv", "3")

    assert tailing.epoch(rotate) == ["1", "2"]
    assert tailing.epoch() == ["3"]
    assert "lost" not in capfd.readouterr().err


@pytest.mark.parametrize("in_place", [True, False], ids=["written over", "another file"])
def test_a_longer_file_with_the_same_first_bytes_is_read_from_its_start(tailing, tmp_path, capfd, in_place):
    header = "vin,time," + "x" * 80
    write(tmp_path / "a.csv", header, *numbered("old", 0, 10))
    assert len(tailing.epoch()) == 11
    if not in_place:
        (tmp_path / "a.csv").unlink()
        (tmp_path / "taken").touch()  # so that the inode is not given away again
    (tmp_path / "a.csv").write_text("")
    lines = numbered("newer", 0, 20)
    write(tmp_path / "a.csv", header, *lines)
    assert tailing.epoch() == sorted([header, *lines])
    assert "was truncated or replaced" in capfd.readouterr().err


def test_a_new_file_with_the_inode_of_a_removed_one_is_read_whole(tmp_path):
    log = Log()
    write(tmp_path / "b.csv", "1", "2", "3")
    gone = Mark(2, "0123456789ab", 0, os.stat(tmp_path / "b.csv").st_ino, "ba9876543210")
    after = FolderPlan(tmp_path, "*.csv", log).advance({"a.csv": (2, str(gone))}, 1000)
    assert {name: position for name, (position, _) in after.items()} == {"b.csv": 6}
    assert Mark.parse(after["b.csv"][1]).generation == 1
    assert log.warnings == ["File 'a.csv' is gone; it was read up to byte 2."]


@pytest.mark.parametrize("grown", [True, False])
@pytest.mark.parametrize("new", ["a.1.csv", "a.csv.1"], ids=["in the glob", "out of it"])
def test_files_that_were_copied_to_their_own_names_rotate_as_before(tailing, tmp_path, new, grown):
    for name in ("a.csv", "b.csv"):
        write(tmp_path / name, *numbered(name, 0, 5))
    assert len(tailing.epoch()) == 10
    copies = {name: tmp_path / f"{name} copied" for name in ("a.csv", "b.csv")}
    for name, copy in copies.items():
        shutil.copyfile(tmp_path / name, copy)
    for name, copy in copies.items():
        copy.replace(tmp_path / name)
    if grown:
        write(tmp_path / "a.csv", "more")
    assert tailing.epoch() == ["more"] * grown
    write(tmp_path / "a.csv", "last")
    (tmp_path / "a.csv").rename(tmp_path / new)
    write(tmp_path / "a.csv", "new")
    assert tailing.epoch() == ["last", "new"]
    for name in ("a.csv", "b.csv", new):
        write(tmp_path / name, f"more of {name}")
    assert tailing.epoch() == sorted(f"more of {name}" for name in ("a.csv", "b.csv", new))


def test_files_whose_copies_have_the_inodes_of_one_another_are_read_on_where_they_were(tailing, tmp_path):
    for name in ("a.csv", "b.csv"):
        write(tmp_path / name, *numbered(name, 0, ord(name[0]) - ord("a") + 1))
    assert len(tailing.epoch()) == 3
    texts = [(tmp_path / name).read_text() for name in ("a.csv", "b.csv")]
    (tmp_path / "a.csv").rename(tmp_path / "c")
    (tmp_path / "b.csv").rename(tmp_path / "a.csv")
    (tmp_path / "c").rename(tmp_path / "b.csv")
    for name, text in zip(("a.csv", "b.csv"), texts, strict=True):
        (tmp_path / name).write_text(text)
    for turn in ("once", "twice", "again"):
        for name in ("a.csv", "b.csv"):
            write(tmp_path / name, f"{turn} {name}")
        assert tailing.epoch() == [f"{turn} a.csv", f"{turn} b.csv"]


def test_a_file_out_of_the_glob_with_the_inode_of_a_removed_one_is_not_read(tailing, tmp_path, capfd):
    write(tmp_path / "a.csv", "1", "2", "3")
    assert tailing.epoch() == ["1", "2", "3"]
    (tmp_path / "a.csv").rename(tmp_path / "other")
    (tmp_path / "other").write_text("4\n5\n6\n7\n")
    assert tailing.epoch() == []
    assert tailing.offset["files"] == {}
    assert "File 'a.csv' is gone" in capfd.readouterr().err


def test_a_copy_of_what_was_read_is_told_for_its_rows_come_twice(tailing, tmp_path, capfd):
    lines = numbered("a", 0, 10)
    write(tmp_path / "a.csv", *lines)
    assert tailing.epoch() == lines
    write(tmp_path / "copy.csv", *lines)
    (tmp_path / "a.csv").write_text("")
    assert tailing.epoch() == lines
    assert "File 'copy.csv' begins with all 70 bytes that were read of 'a.csv'" in capfd.readouterr().err


def test_positions_that_a_former_release_wrote_are_gone_on_with(tmp_path, tailing):
    write(tmp_path / "a.csv", "1", "2")
    tailing.epoch()
    position, mark = tailing.offset["files"]["a.csv"]
    tailing.offset = {"files": {"a.csv": [position, ":".join(mark.split(":")[:3])]}}
    write(tmp_path / "a.csv", "3")
    assert tailing.epoch() == ["3"]
    (tmp_path / "a.csv").rename(tmp_path / "b.csv")
    write(tmp_path / "b.csv", "4")
    assert tailing.epoch() == ["4"]


def test_a_byte_order_mark_is_no_part_of_the_first_field(tailing, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfone,1\n\xef\xbb\xbftwo,2\n")
    assert tailing.epoch() == ["one,1", "\ufefftwo,2"]


def test_a_file_whose_name_is_no_utf8_is_read_and_read_on(tailing, tmp_path):
    path = tmp_path / os.fsdecode("m\xe4rz.csv".encode("latin-1"))
    for line in "12":
        write(path, line)
        assert tailing.epoch() == [line]
        tailing.offset = json.loads(json.dumps(tailing.offset))


QUOTED = ['1,"plain"\n', '2,"two\nlines"\n', '3,"a ""quoted"" word\n\n"\n', '4,"crlf\r\n"\r\n', "5,last\n"]


def test_newlines_in_quotes_end_no_record_if_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("".join(QUOTED), newline="")
    wanted = sorted(record[:-1].rstrip("\r") for record in QUOTED)
    assert Tailing(tmp_path, multiline="true").epoch() == wanted
    bounded, read = Tailing(tmp_path, anew=True, multiline="true", maxBytes="12"), []
    while found := bounded.epoch():
        read += found
    assert sorted(read) == wanted


def test_a_record_whose_quotes_are_open_waits_for_the_rest(tmp_path):
    tailing = Tailing(tmp_path, multiline="true")
    write(tmp_path / "a.csv", "1,x", '2,"one')
    assert tailing.epoch() == ["1,x"]
    write(tmp_path / "a.csv", 'two"')
    assert tailing.epoch() == ['2,"one\ntwo"']


def test_a_quote_that_is_never_closed_spoils_its_own_line_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("pitstop.spark.sources.csv_records.LONGEST_QUOTED", 200)
    lines = ["1,x", '2,"open', *(f"3,{number:03d}" for number in range(100))]
    write(tmp_path / "a.csv", *lines)
    for most in ("50", "100000"):
        tailing, read = Tailing(tmp_path, anew=True, multiline="true", maxBytes=most), []
        while found := tailing.epoch():
            read += found
        assert sorted(read) == sorted(lines)


def planned(tailing):
    """The parts of an epoch that is planned and not read yet."""
    start, tailing.offset = tailing.offset, tailing.reader.latestOffset(tailing.offset, None)
    return tailing.reader.partitions(start, tailing.offset)


def lines_of(tailing, parts):
    return sorted(row["value"] for part in parts for batch in tailing.reader.read(part) for row in batch.to_pylist())


def refuse(monkeypatch, call, path, number=errno.EMFILE):
    """Have the operating system refuse what ``call`` asks of this path."""
    owner = {"stat": os, "lstat": os, "scandir": csv_marks}.get(call, Path)
    real = getattr(owner, call)

    def refusing(asked, *args, **more):
        if Path(asked) == path:
            raise OSError(number, os.strerror(number), str(path))
        return real(asked, *args, **more)

    monkeypatch.setattr(owner, call, refusing)


def test_a_folder_that_is_away_when_an_epoch_is_read_loses_nothing_and_the_epoch_waits(tmp_path, capfd):
    folder = tmp_path / "share"
    folder.mkdir()
    write(folder / "a.csv", "1", "2")
    tailing = Tailing(folder)
    parts = planned(tailing)
    folder.rename(tmp_path / "away")
    with pytest.raises(SourceAwayError) as told:
        lines_of(tailing, parts)
    place = f"bytes 0 to 4 of 'a.csv' in {folder} (the folder is not there)"
    assert str(told.value) == f"Source 'csv_tail' cannot read {place}: it waits until it can."
    (tmp_path / "away").rename(folder)
    assert lines_of(tailing, parts) == ["1", "2"]
    assert "lost" not in capfd.readouterr().err


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO, errno.ESTALE])
def test_a_file_that_cannot_be_opened_for_a_moment_loses_nothing_and_the_epoch_waits(tailing, tmp_path, monkeypatch, number):
    write(tmp_path / "a.csv", "1", "2")
    parts = planned(tailing)
    with monkeypatch.context() as patch:
        refuse(patch, "open", tmp_path / "a.csv", number)
        with pytest.raises(SourceAwayError, match=rf"\({os.strerror(number)}\)"):
            lines_of(tailing, parts)
    assert lines_of(tailing, parts) == ["1", "2"]


def test_a_renamed_file_whose_folder_cannot_be_listed_for_a_moment_loses_nothing_and_the_epoch_waits(
    tailing, tmp_path, monkeypatch
):
    write(tmp_path / "a.csv", "1", "2")
    parts = planned(tailing)
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
    with monkeypatch.context() as patch:
        refuse(patch, "scandir", tmp_path)
        with pytest.raises(SourceAwayError, match="Too many open files"):
            lines_of(tailing, parts)
    assert lines_of(tailing, parts) == ["1", "2"]


def test_a_renamed_file_whose_facts_cannot_be_had_for_a_moment_loses_nothing_and_the_epoch_waits(tailing, tmp_path, monkeypatch):
    write(tmp_path / "a.csv", "1", "2")
    parts = planned(tailing)
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
    with monkeypatch.context() as patch:
        refuse(patch, "stat", tmp_path / "a.csv.1", errno.ESTALE)
        with pytest.raises(SourceAwayError, match="Stale file handle"):
            lines_of(tailing, parts)
    assert lines_of(tailing, parts) == ["1", "2"]


@pytest.mark.parametrize("directory", [False, True], ids=["removed", "a folder now"])
def test_a_file_that_is_gone_from_a_folder_that_is_there_is_told_with_its_bytes(tailing, tmp_path, capfd, directory):
    write(tmp_path / "a.csv", "1", "2")
    parts = planned(tailing)
    (tmp_path / "a.csv").unlink()
    if directory:
        (tmp_path / "a.csv").mkdir()
    assert lines_of(tailing, parts) == []
    assert "4 bytes are lost" in capfd.readouterr().err


@pytest.fixture
def refused_for_ever(tmp_path):
    """What is no file of the source, and whose facts nobody can have."""
    link = tmp_path / "elsewhere"
    link.symlink_to("x" * 300)
    with pytest.raises(OSError, match="File name too long"):
        link.stat()


def test_a_removed_file_is_told_though_something_else_in_its_folder_is_refused(tailing, tmp_path, capfd, refused_for_ever):
    write(tmp_path / "a.csv", "1", "2")
    parts = planned(tailing)
    (tmp_path / "a.csv").unlink()
    assert lines_of(tailing, parts) == []
    assert "4 bytes are lost" in capfd.readouterr().err
    assert tailing.epoch() == []
    assert tailing.offset["files"] == {}


def test_a_new_file_is_read_though_something_else_in_its_folder_is_refused(tailing, tmp_path, refused_for_ever):
    write(tmp_path / "a.csv", "1", "2")
    assert tailing.epoch() == ["1", "2"]
    (tmp_path / "taken").touch()
    (tmp_path / "taken").replace(tmp_path / "a.csv")
    write(tmp_path / "a.csv", "3")
    assert tailing.epoch() == ["3"]


@pytest.mark.parametrize("refused", ["scandir", "open", "stat"])
def test_a_renamed_file_that_cannot_be_looked_for_while_an_epoch_is_planned_is_read_on_later(
    tailing, tmp_path, monkeypatch, refused
):
    write(tmp_path / "a.csv", "1", "2")
    assert tailing.epoch() == ["1", "2"]
    new = tmp_path / ("a.1" if refused == "scandir" else "b.csv")
    (tmp_path / "a.csv").rename(new)
    write(new, "3")
    with monkeypatch.context() as patch:
        refuse(patch, refused, tmp_path if refused == "scandir" else new, errno.EIO)
        assert tailing.epoch() == []
    assert tailing.epoch() == ["3"]


@pytest.mark.parametrize("refused", ["scandir", "open", "stat"])
def test_a_rotated_file_that_cannot_be_read_for_a_moment_is_not_read_again_beside_a_new_one_of_its_name(
    tailing, tmp_path, monkeypatch, refused
):
    write(tmp_path / "a.csv", *numbered("old", 0, 5))
    assert tailing.epoch() == numbered("old", 0, 5)
    write(tmp_path / "a.csv", "last")
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
    write(tmp_path / "a.csv", "new")
    with monkeypatch.context() as patch:
        refuse(patch, refused, tmp_path if refused == "scandir" else tmp_path / "a.csv.1", errno.EIO)
        read = tailing.epoch()
    assert sorted(read + tailing.epoch()) == ["last", "new"]
    assert tailing.epoch() == []


@pytest.mark.parametrize("refused", ["scandir", "open", "stat"])
def test_of_files_that_rotate_none_is_read_again_because_one_cannot_be_looked_for(tailing, tmp_path, monkeypatch, refused):
    for name in ("a.csv", "a.1.csv"):
        write(tmp_path / name, *numbered(name, 0, 5))
    assert len(tailing.epoch()) == 10
    (tmp_path / "a.1.csv").rename(tmp_path / "a.2")
    (tmp_path / "a.csv").rename(tmp_path / "a.1.csv")
    for name in ("a.csv", "a.1.csv", "a.2"):
        write(tmp_path / name, f"more of {name}")
    with monkeypatch.context() as patch:
        refuse(patch, refused, tmp_path if refused == "scandir" else tmp_path / "a.2", errno.EIO)
        read = tailing.epoch()
    assert sorted(read + tailing.epoch()) == ["more of a.1.csv", "more of a.2", "more of a.csv"]
    assert tailing.epoch() == []


def test_a_rotated_file_that_nobody_may_read_any_more_does_not_hold_up_the_new_one_of_its_name(tailing, tmp_path, monkeypatch):
    write(tmp_path / "a.csv", *numbered("old", 0, 5))
    tailing.epoch()
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
    write(tmp_path / "a.csv", "new")
    refuse(monkeypatch, "open", tmp_path / "a.csv.1", errno.EACCES)
    assert tailing.epoch() == ["new"]
    assert tailing.offset["files"]["a.csv.1"][0] == 45


def test_a_file_that_was_copied_to_its_own_name_goes_on_though_its_inode_is_that_of_one_that_nobody_may_read(
    tailing, tmp_path, monkeypatch
):
    write(tmp_path / "a.csv", *numbered("old", 0, 5))
    tailing.epoch()
    (tmp_path / "a.csv").rename(tmp_path / "z.csv")
    write(tmp_path / "a.csv", *numbered("old", 0, 5), "more")
    (tmp_path / "z.csv").write_text("another\n")
    with monkeypatch.context() as patch:
        refuse(patch, "open", tmp_path / "a.csv", errno.EMFILE)
        refuse(patch, "open", tmp_path / "z.csv", errno.EMFILE)
        assert tailing.epoch() == []
    refuse(monkeypatch, "open", tmp_path / "z.csv", errno.EACCES)
    assert tailing.epoch() == ["more"]
    write(tmp_path / "a.csv", "last")
    assert tailing.epoch() == ["last"]


def test_a_file_whose_facts_cannot_be_had_for_a_moment_is_read_on_later(tailing, tmp_path, monkeypatch, capfd):
    write(tmp_path / "a.csv", "1", "2")
    assert tailing.epoch() == ["1", "2"]
    write(tmp_path / "a.csv", "3")
    with monkeypatch.context() as patch:
        for call in ("stat", "lstat"):
            refuse(patch, call, tmp_path / "a.csv", errno.ESTALE)
        assert tailing.epoch() == []
    assert tailing.epoch() == ["3"]
    assert "is gone" not in capfd.readouterr().err


@pytest.fixture
def one_inode(tmp_path, monkeypatch):
    """Folders 'a' and 'b', each as if on a file system of its own, whose files named x... all have the same inode there."""
    real = os.stat

    def told(path, *args, **more):
        facts = real(path, *args, **more)
        folders = [part for part in Path(path).parts if part in ("a", "b")] if isinstance(path, str | Path) else []
        if not folders:
            return facts
        values = list(facts)
        values[1] = 12 if Path(path).name.startswith("x") else facts.st_ino
        values[2] = 100 + ord(folders[0])
        return os.stat_result(values, {"st_mtime_ns": facts.st_mtime_ns})

    for name in "ab":
        (tmp_path / name).mkdir()
    monkeypatch.setattr(os, "stat", told)


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def tailing_all(request, tmp_path, one_inode):
    return Tailing(tmp_path, request.param, glob="*/x*.csv")


def test_files_of_several_file_systems_with_the_same_inode_are_each_read_once(tailing_all, tmp_path, capfd):
    for turn in range(3):
        write(tmp_path / "a/x.csv", f"a {turn}")
        write(tmp_path / "b/x.csv", f"b {turn}", f"b {turn}, too")
        assert tailing_all.epoch() == [f"a {turn}", f"b {turn}", f"b {turn}, too"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("new", ["x.1.csv", "x.old"], ids=["in the glob", "out of it"])
@pytest.mark.parametrize("rotated", ["a", "b", "ab"])
def test_a_file_that_rotates_is_not_taken_for_one_of_another_file_system_with_its_inode(tailing_all, tmp_path, new, rotated):
    for name in "ab":
        write(tmp_path / f"{name}/x.csv", "the same", *["more"] * ord(name))
    assert len(tailing_all.epoch()) == 2 + ord("a") + ord("b")
    for name in "ab":
        write(tmp_path / f"{name}/x.csv", f"{name}, next")
    for name in rotated:
        (tmp_path / name / "x.csv").rename(tmp_path / name / new)
    assert tailing_all.epoch() == ["a, next", "b, next"]
    for name in "ab":
        write(tmp_path / name / (new if name in rotated else "x.csv"), f"{name}, last")
    assert tailing_all.epoch() == ["a, last", "b, last"]
