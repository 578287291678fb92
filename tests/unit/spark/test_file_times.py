"""Files from the future, by what Spark's file sources note of what they have read."""

import json

import pytest

from pitstop.spark.running.file_times import FileTimes

NOW = 1_800_000_000
DAY = 86_400


@pytest.fixture
def sources(tmp_path):
    """A checkpoint whose source 0 has noted files, and what is told of them."""
    lines = []
    times = FileTimes(lambda *line: lines.append(line), lambda: NOW)
    log = tmp_path / "sources" / "0"
    log.mkdir(parents=True)

    def note(part, *ahead, name=None):
        entries = [{"path": f"file:///in/{days}", "timestamp": (NOW + days * DAY) * 1000, "batchId": part} for days in ahead]
        (log / (name or str(part))).write_text("\n".join(["v1", *map(json.dumps, entries)]))

    def look(part):
        times.look(tmp_path, {0: ("lines", json.dumps({"logOffset": part}))})
        return lines

    return note, look


def test_a_file_that_is_days_ahead_is_told_once_with_what_comes_of_it(sources):
    note, look = sources
    note(0, -3, 0)
    assert look(0) == []
    note(1, -1, 30)
    note(2, 31)
    assert len(look(1)) == len(look(2)) == 1
    level, _, said = look(2)[0]
    assert level == "WARN"
    assert said.startswith("a file of 'lines' says that it was written at 2027-02-14T08:00:00")
    assert "file:///in/30" in said
    assert "maxFileAge" in said


def test_parts_between_two_looks_are_looked_at_and_compacted_ones_by_their_own_entries(sources):
    note, look = sources
    note(0, 30)
    note(1, 0)
    assert look(1) == [], "what an earlier run has read was told by it"
    note(2, 30, name="2.compact")
    note(3, 0)
    assert len(look(3)) == 1


def test_offsets_that_have_no_log_are_passed_over(sources, tmp_path):
    lines = []
    for offset in (None, "5", '{"seq":3}', "{", {"logOffset": 1}):
        FileTimes(lambda *line: lines.append(line)).look(tmp_path, {0: ("lines", offset)})
    assert lines == []


def test_of_a_compacted_part_only_its_own_entries_at_the_end_are_read(sources, tmp_path):
    note, look = sources
    note(0, 0)
    look(0)
    earlier = [json.dumps({"path": f"file:///in/{n}", "timestamp": NOW * 1000, "batchId": n % 9}) for n in range(5_000)]
    own = [json.dumps({"path": "file:///in/late", "timestamp": (NOW + 30 * DAY) * 1000, "batchId": 9})] * 2_000
    (tmp_path / "sources" / "0" / "9.compact").write_text("\n".join(["v1", "no JSON", *earlier, *own]))
    assert "file:///in/late" in look(9)[0][2]
