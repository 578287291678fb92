"""What the reader makes of the planned bytes."""

from pitstop.spark.sources.csv_tail import CsvTailReader
from pitstop.spark.sources.shared import SourceOptions


def reader(folder, **options):
    return CsvTailReader(SourceOptions("csv_tail", {"path": str(folder)} | options))


def rows(source, start, end):
    return [row for part in source.partitions(start, end) for batch in source.read(part) for row in batch.to_pylist()]


def test_lines_come_without_newline_with_their_file_and_position(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"one\r\n\n\r\n\xffx\nz\xc3\xa9\nunfinished")
    source = reader(tmp_path)
    start = source.initialOffset()
    assert rows(source, start, source.latestOffset(start, None)) == [
        {"value": "one", "file": "a.csv", "position": 0},
        {"value": "\ufffdx", "file": "a.csv", "position": 8},
        {"value": "zé", "file": "a.csv", "position": 11},
    ]


def test_the_same_offsets_give_the_same_rows_after_the_file_has_grown(tmp_path):
    (tmp_path / "a.csv").write_text("1\n2\n")
    source = reader(tmp_path)
    start = source.initialOffset()
    end = source.latestOffset(start, None)
    before = rows(source, start, end)
    with (tmp_path / "a.csv").open("a") as file:
        file.write("3\n")
    assert rows(reader(tmp_path), start, end) == before


def test_what_was_truncated_between_planning_and_reading_is_told_in_bytes(tmp_path, capfd):
    (tmp_path / "a.csv").write_text("1\n2\n3\n")
    source = reader(tmp_path)
    start = source.initialOffset()
    end = source.latestOffset(start, None)
    with (tmp_path / "a.csv").open("r+") as file:
        file.truncate(0)
    assert rows(source, start, end) == []
    assert "before bytes 0 to 6 were read: 6 bytes are lost" in capfd.readouterr().err


def test_a_file_replaced_between_planning_and_reading_gives_none_of_its_rows_for_the_old_ones(tmp_path, capfd):
    (tmp_path / "a.csv").write_text("old,1\nold,2\n")
    source = reader(tmp_path)
    start = source.initialOffset()
    middle = source.latestOffset(start, None)
    with (tmp_path / "a.csv").open("a") as file:
        file.write("old,3\n")
    end = source.latestOffset(middle, None)
    (tmp_path / "a.csv").write_text("new row 1\nnew row 2\nnew row 3\n")
    assert rows(source, middle, end) == []
    assert "6 bytes are lost" in capfd.readouterr().err
    found = rows(source, end, source.latestOffset(end, None))
    assert [row["value"] for row in found] == ["new row 1", "new row 2", "new row 3"]


def test_the_throttle_bounds_an_epoch_and_lets_at_least_a_line_through(tmp_path):
    (tmp_path / "a.csv").write_text("123456789\n" * 100)
    throttle = tmp_path / "admission.json"
    throttle.write_text('{"share": 0.25}')
    source = reader(tmp_path, maxBytes="200", admission=str(throttle))
    start = source.initialOffset()
    assert len(rows(source, start, source.latestOffset(start, None))) == 5
    throttle.write_text('{"share": 0.0009765625}')
    assert len(rows(source, start, source.latestOffset(start, None))) == 1
