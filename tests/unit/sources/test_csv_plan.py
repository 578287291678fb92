"""Which bytes come next: growth, unfinished lines, truncation, rotation, fairness."""

import pytest

from pitstop.spark.sources.csv_plan import balanced, next_positions, spans


class Log:
    """Keeps what a source would have logged."""

    def __init__(self):
        self.warnings = []

    def warning(self, message):
        self.warnings.append(message)


@pytest.fixture
def log():
    return Log()


def read(folder, before, after):
    """The lines between two offsets."""
    lines = []
    for span in spans(before, after):
        data = (folder / span.file).read_bytes()[span.start : span.end]
        lines += [line.decode() for line in data.splitlines()]
    return sorted(lines)


def advance(folder, before, log, max_bytes=1 << 20, told=None):
    return next_positions(folder, "*.csv", before, max_bytes, log, told if told is not None else set())


def test_appended_lines_are_read_once(tmp_path, log):
    (tmp_path / "a.csv").write_text("1\n2\n")
    first = advance(tmp_path, {}, log)
    with (tmp_path / "a.csv").open("a") as file:
        file.write("3\n")
    second = advance(tmp_path, first, log)
    assert read(tmp_path, {}, first) == ["1", "2"]
    assert read(tmp_path, first, second) == ["3"]
    assert advance(tmp_path, second, log) == second
    assert log.warnings == []


def test_an_unfinished_last_line_waits_for_its_newline(tmp_path, log):
    (tmp_path / "a.csv").write_text("1\n2")
    first = advance(tmp_path, {}, log)
    assert read(tmp_path, {}, first) == ["1"]
    (tmp_path / "a.csv").write_text("1\n2\n")
    assert read(tmp_path, first, advance(tmp_path, first, log)) == ["2"]


def test_a_truncated_file_is_read_from_its_start_with_a_warning(tmp_path, log):
    (tmp_path / "a.csv").write_text("1\n2\n3\n")
    first = advance(tmp_path, {}, log)
    (tmp_path / "a.csv").write_text("9\n")
    second = advance(tmp_path, first, log)
    assert read(tmp_path, first, second) == ["9"]
    assert "File 'a.csv' was truncated or replaced: read up to byte 6, it now has 2 bytes" in log.warnings[0]


def test_a_rotated_file_is_recognised_even_if_the_new_one_is_longer(tmp_path, log):
    (tmp_path / "a.csv").write_text("old-1\nold-2\n")
    first = advance(tmp_path, {}, log)
    (tmp_path / "a.csv").rename(tmp_path / "a.csv.1")
    (tmp_path / "a.csv").write_text("new-1\nnew-2\nnew-3\n")
    second = advance(tmp_path, first, log)
    assert read(tmp_path, first, second) == ["new-1", "new-2", "new-3"]
    assert len(log.warnings) == 1


def test_a_folder_and_files_that_come_later_are_waited_for(tmp_path, log):
    folder, told = tmp_path / "later", set()
    assert advance(folder, {}, log, told=told) == {}
    assert advance(folder, {}, log, told=told) == {}
    assert len(log.warnings) == 1
    folder.mkdir()
    (folder / "a.csv").write_text("1\n")
    assert read(folder, {}, advance(folder, {}, log, told=told)) == ["1"]


def test_a_removed_file_is_told_once(tmp_path, log):
    (tmp_path / "a.csv").write_text("1\n")
    first = advance(tmp_path, {}, log)
    (tmp_path / "a.csv").unlink()
    told = set()
    assert advance(tmp_path, first, log, told=told) == {}
    assert log.warnings == ["File 'a.csv' is gone; it was read up to byte 2."]


def test_an_epoch_is_bounded_and_no_file_starves(tmp_path, log):
    (tmp_path / "big.csv").write_text("x" * 9 + "\n" + ("y" * 9 + "\n") * 999)
    (tmp_path / "small.csv").write_text("1\n")
    first = advance(tmp_path, {}, log, max_bytes=1000)
    assert first["small.csv"][0] == 2
    assert 0 < first["big.csv"][0] <= 1000
    position, seen = {}, 0
    while (after := advance(tmp_path, position, log, max_bytes=1000)) != position:
        seen += len(read(tmp_path, position, after))
        position = after
    assert seen == 1001


def test_a_line_longer_than_an_epoch_does_not_block(tmp_path, log):
    (tmp_path / "a.csv").write_text("z" * 5000 + "\n1\n")
    first = advance(tmp_path, {}, log, max_bytes=100)
    assert read(tmp_path, {}, first) == ["z" * 5000]


def test_spans_are_spread_by_bytes_and_keep_a_file_together(tmp_path, log):
    for name, size in (("a", 100), ("b", 60), ("c", 50)):
        (tmp_path / f"{name}.csv").write_text("1\n" * size)
    parts = balanced(spans({}, advance(tmp_path, {}, log)), 2)
    assert sorted(sum(span.end - span.start for span in part) for part in parts) == [200, 220]
