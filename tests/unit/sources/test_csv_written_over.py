"""Files that are written over in place while they are looked at, or read: what they have then is read, or it is told."""

import pytest

from pitstop.spark.sources import csv_plan, csv_tail
from pitstop.spark.sources.csv_marks import Mark
from tests.unit.sources.test_csv_meanwhile import Meanwhile
from tests.unit.sources.test_csv_rotation import Tailing, lines_of, numbered, planned, write


@pytest.mark.parametrize("multiline", ["false", "true"])
@pytest.mark.parametrize("new", [numbered("of another length", 0, 3), numbered("new", 0, 50)], ids=["short", "long"])
@pytest.mark.parametrize("read_before", [False, True], ids=["a new file", "one that was read in part"])
def test_what_is_written_over_at_any_moment_of_an_epoch_is_read_whole(tmp_path, monkeypatch, multiline, new, read_before):
    at, begun = 1, True
    while begun:
        folder = tmp_path / str(at)
        folder.mkdir()
        path, read = folder / "a.csv", []
        with monkeypatch.context() as patch:
            steps = Meanwhile(
                patch,
                [lambda path=path: path.write_text("".join(f"{line}\n" for line in new))],
                10_000,
                0,
                *((Mark, name) for name in ("fits", "moved_to")),
                *((csv_plan, name) for name in ("last_line_end", "last_record_end")),
            )
            tailing = Tailing(folder, multiline=multiline)
            write(path, *numbered("old", 0, 4))
            if read_before:
                read += tailing.epoch()
            write(path, *numbered("old", 4, 8))
            steps.calls, steps.at = 0, at
            read += tailing.epoch()
            begun = not steps.steps
        if begun:
            for _ in range(3):
                read += tailing.epoch()
            assert sorted(line for line in read if line in new) == sorted(new), f"at call {at}"
            assert set(read) <= {*numbered("old", 0, 8), *new}, f"at call {at}"
        at += 1


@pytest.mark.parametrize("new", ["", "x" * 1000 + "\n", "y" * 300_000 + "\n"], ids=["nothing", "less", "more"])
def test_a_file_that_is_written_over_once_it_was_opened_is_told(tmp_path, monkeypatch, capfd, new):
    write(tmp_path / "a.csv", *numbered("old", 0, 10_000))
    tailing = Tailing(tmp_path)
    parts = planned(tailing)
    real = csv_tail.open_marked

    def written_over(*args):
        file = real(*args)
        (tmp_path / "a.csv").write_text(new)
        return file

    monkeypatch.setattr(csv_tail, "open_marked", written_over)
    assert lines_of(tailing, parts) == []
    assert "90,000 bytes are lost" in capfd.readouterr().err
    monkeypatch.setattr(csv_tail, "open_marked", real)
    assert tailing.epoch() == new.split()


def test_what_was_read_before_the_file_was_written_over_is_given(tmp_path, monkeypatch):
    """As where it is copied and truncated."""
    write(tmp_path / "a.csv", *numbered("old", 0, 10_000))
    tailing = Tailing(tmp_path)
    parts = planned(tailing)
    real = Mark.ends

    def emptied(*args):
        (tmp_path / "a.csv").write_text("")
        return real(*args)

    monkeypatch.setattr(Mark, "ends", emptied)
    assert lines_of(tailing, parts) == numbered("old", 0, 10_000)
