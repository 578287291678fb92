"""How much is there to read that is not in the epoch under way, as the reader says who decides where that ends."""

import pytest

from pitstop.spark.sources.csv_tail import CsvTailReader
from pitstop.spark.sources.map_journal import MapJournalReader
from pitstop.spark.sources.rate import RateReader
from pitstop.spark.sources.shared import MOST_PARTS, Behind, SourceOptions, behind_of
from tests.maps import map_store


def options(folder, stage="in", **more):
    return SourceOptions("csv_tail", {"stage": stage, "agreements": str(folder / "agreements")} | more)


@pytest.fixture
def said(tmp_path):
    return lambda: {stage: (lag.amount, lag.unit) for stage, lag in behind_of(tmp_path / "agreements").items()}


def test_a_tailed_folder_is_behind_by_the_bytes_that_an_epoch_could_not_take(tmp_path, said):
    lines = tmp_path / "lines"
    lines.mkdir()
    (lines / "a.csv").write_text("123\n" * 5)
    (lines / "b.csv").write_text("1234567\nnot yet")
    reader = CsvTailReader(options(tmp_path, path=str(lines), maxBytes="16"))
    first = reader.latestOffset({"files": {}}, None)
    read = sum(position for position, _ in first["files"].values())
    assert 0 < read <= 16
    assert said() == {"in": (35 - read, "bytes")}
    while (after := reader.latestOffset(first, None)) != first:
        first = after
    assert said() == {"in": (len("not yet"), "bytes")}, "what is no whole line yet"


def test_a_journal_is_behind_by_its_events(tmp_path, said, monkeypatch):
    store = map_store(tmp_path)
    store.put_all("m", [(str(n), "{}") for n in range(7)])
    reader = MapJournalReader(options(tmp_path, map="m", maxEvents="3", store="memory", storeFactory="no:matter"))
    monkeypatch.setattr(reader, "_store", _Direct(store))
    first = reader.latestOffset(reader.initialOffset(), None)
    assert said() == {"in": (4, "events")}
    second = reader.latestOffset(first, None)
    reader.latestOffset(second, None)
    assert said() == {"in": (0, "events")}


class _Direct:
    def __init__(self, store):
        self.store = store

    def now(self, ask):
        return ask(self.store)

    patiently = now


def test_numbers_that_were_due_and_did_not_fit_are_behind(tmp_path, said):
    reader = RateReader(options(tmp_path, rowsPerSecond="1000", maxRows="10"))
    start = reader.initialOffset() | {"anchor_us": 1}
    reader.latestOffset(start, None)
    (amount, unit) = said()["in"]
    assert unit == "rows"
    assert amount > 10**9, "since 1970"


def test_each_stage_has_its_own_and_what_an_older_source_of_the_stage_said_is_forgotten(tmp_path, said):
    def decided(behind, end, **of):
        settings = options(tmp_path, **of)

        def decide():
            settings.behind = Behind(*behind) if behind is not None else None
            return {"n": end}

        settings.agreed({"n": 0}, decide)

    decided((5, "rows"), 1, stage="a", url="x")
    decided((6, "bytes"), 1, stage="b", path="x")
    assert said() == {"a": (5, "rows"), "b": (6, "bytes")}
    decided(None, 1, stage="a", url="y")
    assert said() == {"b": (6, "bytes")}


def test_a_run_without_agreements_or_of_an_older_release_knows_nothing(tmp_path, said):
    assert said() == {}
    (tmp_path / "agreements").mkdir()
    (tmp_path / "agreements" / "old.json").write_text('{"start": "{}", "end": {"n": 1}}')
    (tmp_path / "agreements" / "cut.json").write_text('{"start": "{')
    assert said() == {}


def test_parts_are_told_by_name_up_to_a_number_those_first_that_are_furthest_behind(tmp_path):
    amounts = {f"orders:{number}": number % 7 for number in range(3 * MOST_PARTS)}
    settings = options(tmp_path)

    def decide():
        settings.behind = Behind(sum(amounts.values()), "messages", amounts)
        return {"n": 1}

    settings.agreed({"n": 0}, decide)
    lag = behind_of(tmp_path / "agreements")["in"]
    furthest = sorted(amounts.values(), reverse=True)[:MOST_PARTS]
    assert (lag.amount, lag.parts_in_all) == (sum(amounts.values()), 3 * MOST_PARTS)
    assert list(lag.parts.values()) == furthest
    assert all(amounts[part] == amount for part, amount in lag.parts.items())
