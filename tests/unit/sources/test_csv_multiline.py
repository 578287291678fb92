"""A job whose next version reads records with newlines in quotes, where this one has read lines."""

import pytest

from pitstop.spark.sources import csv_plan, csv_records
from tests.unit.sources.test_csv_rotation import Tailing, write


def updated(tailing, **options):
    """Goes on where another one was, as the next version of a job does."""
    later = Tailing(tailing.folder, tailing.anew, **options)
    later.offset = tailing.offset
    return later


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def by_lines(request, tmp_path):
    return Tailing(tmp_path, request.param)


def test_what_was_read_by_lines_in_the_midst_of_a_record_ends_and_records_follow(by_lines, tmp_path, capfd):
    write(tmp_path / "a.csv", '1,"one', "two")
    write(tmp_path / "b.csv", '1,"one', '"', "2,x")
    assert sorted(by_lines.epoch()) == ['"', '1,"one', '1,"one', "2,x", "two"]
    by_records = updated(by_lines, multiline="true")
    write(tmp_path / "a.csv", "three")
    write(tmp_path / "b.csv", '3,"four', 'five"')
    assert by_records.epoch() == ['3,"four\nfive"']
    write(tmp_path / "a.csv", 'four"', '2,"five', 'six"')
    read = by_records.epoch()
    assert "File 'a.csv' was read up to byte 11 by lines, in the middle of a record" in capfd.readouterr().err
    assert sorted(read + by_records.epoch()) == ['2,"five\nsix"', 'four"', "three"]
    write(tmp_path / "a.csv", '3,"seven', 'eight"')
    assert by_records.epoch() == ['3,"seven\neight"']
    assert "by lines" not in capfd.readouterr().err


def test_records_are_not_counted_again_once_they_are_read_as_such(by_lines, tmp_path, monkeypatch):
    write(tmp_path / "a.csv", "1,x", '2,"one', 'two"')
    assert len(by_lines.epoch()) == 3
    by_records = updated(by_lines, multiline="true")
    counted = []
    real = csv_records.last_record_end
    monkeypatch.setattr(
        csv_records, "last_record_end", lambda file, start, *more: counted.append(start) or real(file, start, *more)
    )
    for number in range(3):
        write(tmp_path / "a.csv", f'3,"{number}', '"')
        assert by_records.epoch() == [f'3,"{number}\n"']
    assert counted.count(0) == 1
    by_lines_again = updated(by_records)
    write(tmp_path / "a.csv", '4,"')
    assert by_lines_again.epoch() == ['4,"']
    by_records = updated(by_lines_again, multiline="true")
    write(tmp_path / "a.csv", '"', "5,x")
    assert by_records.epoch() + by_records.epoch() == ['"', "5,x"]


@pytest.mark.parametrize("size", [3, 7_000, 600_000])
def test_the_end_of_a_record_is_found_from_the_beginning_of_a_file(tmp_path, monkeypatch, size):
    monkeypatch.setattr(csv_records, "SCAN_BYTES", 1000)
    monkeypatch.setattr(csv_records, "LONGEST_QUOTED", 20_000)
    records = ["1,x\n", '2,"' + "y\n" * min(size, 3_000) + '"\n', f"3,{'z' * size}\n", '4,"\n"\n', '5,"open\n']
    (tmp_path / "a.csv").write_text("".join(records))
    ends = [sum(len(record) for record in records[: number + 1]) for number in range(5)]
    with (tmp_path / "a.csv").open("rb") as file:
        for position in (1, 4, 5, 10, ends[1] - 2, ends[1], ends[1] + 1, ends[2], ends[3] - 2, ends[3], ends[4]):
            wanted = next((end for end in ends[:4] if end >= position), ends[3])
            assert csv_records.record_end_from(file, 0, position, ends[4]) == wanted


def test_what_a_former_release_has_read_counts_as_records_and_is_not_counted_from_its_beginning(tmp_path, monkeypatch):
    write(tmp_path / "a.csv", '1,"one', 'two"')
    write(tmp_path / "b.csv", "2,x")
    tailing = Tailing(tmp_path, multiline="true")
    assert tailing.epoch() == ['1,"one\ntwo"', "2,x"]
    marks = {name: [position, mark.removesuffix(":1")] for name, (position, mark) in tailing.offset["files"].items()}
    tailing.offset = {"files": marks}
    assert tailing.epoch() == []
    assert tailing.offset == {"files": marks}, "nothing has come, so there is no epoch"
    monkeypatch.setattr(csv_plan, "record_end_from", None)
    write(tmp_path / "a.csv", '3,"', '"')
    assert tailing.epoch() == ['3,"\n"']
    write(tmp_path / "b.csv", '4,"', '"')
    assert tailing.epoch() == ['4,"\n"']
