"""Which bytes come next: growth, unfinished lines, truncation, replacement, bounds, fairness."""

import os

import pytest

from pitstop.spark.sources.csv_marks import Mark, spans
from pitstop.spark.sources.csv_plan import FolderPlan, balanced, even_shares


class Log:
    """Keeps what a source would have logged."""

    def __init__(self):
        self.warnings, self.told = [], []

    def info(self, message):
        self.told.append(message)

    def warning(self, message):
        self.warnings.append(message)


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def plan(tmp_path, log):
    return FolderPlan(tmp_path, "*.csv", log)


def read(folder, before, after):
    """The lines between two offsets."""
    lines = []
    for span in spans(before, after):
        data = (folder / span.file).read_bytes()[span.start : span.end]
        lines += [line.decode() for line in data.splitlines()]
    return sorted(lines)


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_appended_lines_are_read_once(tmp_path, plan, log):
    (tmp_path / "a.csv").write_text("1\n2\n")
    first = plan.advance({}, 1000)
    append(tmp_path / "a.csv", "3\n")
    second = plan.advance(first, 1000)
    assert read(tmp_path, {}, first) == ["1", "2"]
    assert read(tmp_path, first, second) == ["3"]
    assert plan.advance(second, 1000) == second
    assert log.warnings == []


def test_an_unfinished_last_line_waits_for_its_newline(tmp_path, plan):
    (tmp_path / "a.csv").write_text("1\n2")
    first = plan.advance({}, 1000)
    assert read(tmp_path, {}, first) == ["1"]
    append(tmp_path / "a.csv", "3")
    assert plan.advance(first, 1000) == first
    append(tmp_path / "a.csv", "\n")
    assert read(tmp_path, first, plan.advance(first, 1000)) == ["23"]


def test_a_truncated_file_is_read_from_its_start_with_one_warning(tmp_path, plan, log):
    (tmp_path / "a.csv").write_text("1\n2\n3\n")
    first = plan.advance({}, 1000)
    (tmp_path / "a.csv").write_text("9\n")
    second = plan.advance(first, 1000)
    assert read(tmp_path, first, second) == ["9"]
    assert plan.advance(second, 1000) == second
    assert log.warnings == [
        "File 'a.csv' was truncated or replaced: read up to byte 6, it now has 2 bytes and is read from its start."
    ]


def test_a_file_truncated_to_nothing_is_told_once_and_read_when_it_grows_beyond_its_old_size(tmp_path, plan, log):
    (tmp_path / "a.csv").write_text("1\n2\n")
    first = plan.advance({}, 1000)
    (tmp_path / "a.csv").write_text("")
    second = plan.advance(first, 1000)
    assert read(tmp_path, first, second) == []
    append(tmp_path / "a.csv", "1\n2\n3\n4\n")
    assert read(tmp_path, second, plan.advance(second, 1000)) == ["1", "2", "3", "4"]
    assert len(log.warnings) == 1


@pytest.mark.parametrize("new", ["new-1\nnew-2\n", "new-1\nnew-2\nnew-3\n", "n\n"], ids=["same size", "longer", "shorter"])
def test_a_replaced_file_is_recognised_whatever_its_size(tmp_path, plan, log, new):
    (tmp_path / "a.csv").write_text("old-1\nold-2\n")
    first = plan.advance({}, 1000)
    (tmp_path / "b").write_text(new)
    os.replace(tmp_path / "b", tmp_path / "a.csv")
    assert read(tmp_path, first, plan.advance(first, 1000)) == new.split()
    assert len(log.warnings) == 1


def test_a_replaced_file_with_the_same_first_line_is_recognised_by_what_followed(tmp_path, plan):
    (tmp_path / "a.csv").write_text("vin,time\n")
    first = plan.advance({}, 1000)
    append(tmp_path / "a.csv", "A,1\n")
    second = plan.advance(first, 1000)
    assert read(tmp_path, first, second) == ["A,1"]
    (tmp_path / "a.csv").write_text("vin,time\nB,1\nB,2\n")
    assert read(tmp_path, second, plan.advance(second, 1000)) == ["B,1", "B,2", "vin,time"]


def test_another_reader_finds_the_same_after_a_restart(tmp_path, plan, log):
    (tmp_path / "a.csv").write_text("old-1\n")
    (tmp_path / "b.csv").write_text("1\n")
    first = plan.advance({}, 1000)
    (tmp_path / "a.csv").write_text("new-1\n")
    append(tmp_path / "b.csv", "2\n")
    assert read(tmp_path, first, FolderPlan(tmp_path, "*.csv", log).advance(first, 1000)) == ["2", "new-1"]


def test_a_folder_and_files_that_come_later_are_waited_for(tmp_path, log):
    folder = tmp_path / "later"
    plan = FolderPlan(folder, "*.csv", log)
    assert plan.advance({}, 1000) == {}
    assert plan.advance({}, 1000) == {}
    assert log.warnings == [f"Folder {folder} does not exist yet: waiting for it."]
    folder.mkdir()
    (folder / "a.csv").write_text("1\n")
    (folder / "other.txt").write_text("no\n")
    (folder / "folder.csv").mkdir()
    assert read(folder, {}, plan.advance({}, 1000)) == ["1"]


def test_a_removed_file_is_told_once_and_read_whole_when_it_comes_back(tmp_path, plan, log):
    (tmp_path / "a.csv").write_text("1\n")
    first = plan.advance({}, 1000)
    (tmp_path / "a.csv").unlink()
    second = plan.advance(first, 1000)
    assert second == {}
    assert plan.advance(second, 1000) == {}
    assert log.warnings == ["File 'a.csv' is gone; it was read up to byte 2."]
    (tmp_path / "a.csv").write_text("1\n2\n")
    assert read(tmp_path, second, plan.advance(second, 1000)) == ["1", "2"]


def test_a_file_that_cannot_be_read_is_told_once_and_holds_up_no_other(tmp_path, plan, log):
    (tmp_path / "a.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("2\n")
    first = plan.advance({}, 1000)
    assert read(tmp_path, {}, first) == ["2"]
    assert plan.advance(first, 1000) == first
    assert log.warnings == ["File 'a.csv' cannot be read (Too many levels of symbolic links): waiting until it can."]
    (tmp_path / "a.csv").unlink()
    (tmp_path / "a.csv").write_text("1\n")
    assert read(tmp_path, first, plan.advance(first, 1000)) == ["1"]


def test_an_epoch_is_bounded_and_small_files_leave_their_share_to_large_ones(tmp_path, plan):
    (tmp_path / "big.csv").write_text(("y" * 9 + "\n") * 1000)
    (tmp_path / "small.csv").write_text("1\n")
    first = plan.advance({}, 1000)
    assert first["small.csv"][0] == 2
    assert first["big.csv"][0] == 990
    position, seen = {}, 0
    while (after := plan.advance(position, 1000)) != position:
        seen += len(read(tmp_path, position, after))
        position = after
    assert seen == 1001


def test_more_files_than_an_epoch_has_room_for_take_turns(tmp_path, plan):
    names = [f"{n:02d}.csv" for n in range(10)]
    for name in names:
        (tmp_path / name).write_text((f"{name}" + "x" * 43 + "\n") * 3)
    position, epochs = {}, []
    for _ in range(5):
        after = plan.advance(position, 100)
        epochs.append({span.file for span in spans(position, after)})
        assert sum(span.end - span.start for span in spans(position, after)) <= 100
        position = after
    assert set().union(*epochs) == set(names)


def test_a_line_longer_than_an_epoch_does_not_block_and_comes_alone(tmp_path, plan):
    (tmp_path / "a.csv").write_text("z" * 200_000 + "\n1\n")
    (tmp_path / "b.csv").write_text("2\n")
    first = plan.advance({}, 100)
    second = plan.advance(first, 100)
    third = plan.advance(second, 100)
    assert read(tmp_path, {}, first) == ["z" * 200_000]
    assert read(tmp_path, first, third) == ["1", "2"]


@pytest.mark.parametrize(
    ("pending", "total", "expected"),
    [
        ({"a": 100, "b": 100}, 100, {"a": 50, "b": 50}),
        ({"a": 10, "b": 500, "c": 500}, 100, {"a": 10, "b": 45, "c": 45}),
        ({"a": 5, "b": 5}, 100, {"a": 5, "b": 5}),
        ({"a": 5, "b": 5, "c": 5}, 1, {"a": 1, "b": 1, "c": 1}),
        ({}, 100, {}),
    ],
)
def test_shares_are_even_and_nothing_is_left_while_someone_wants_it(pending, total, expected):
    assert even_shares(pending, total) == expected


def test_spans_are_spread_by_bytes_and_keep_a_file_together(tmp_path, plan):
    for name, size in (("a", 100), ("b", 60), ("c", 50)):
        (tmp_path / f"{name}.csv").write_text("1\n" * size)
    parts = balanced(spans({}, plan.advance({}, 1000)), 2)
    assert sorted(sum(span.end - span.start for span in part) for part in parts) == [200, 220]


def test_a_mark_survives_its_text_also_that_of_an_empty_file():
    for mark in (Mark(17, "abc", 2, 4711, "def"), Mark(generation=1), Mark()):
        assert Mark.parse(str(mark)) == mark
    assert Mark.parse("") == Mark()
