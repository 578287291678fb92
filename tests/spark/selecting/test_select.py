"""A SELECT that takes too long, or that nobody wants any more, ends wherever it is, also while its tables are made."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count

import pytest

from pitstop.errors import UsageError
from pitstop.maps.model import Entry
from pitstop.model.selecting import Select
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.selecting import batches
from pitstop.spark.selecting.asking import Asking
from pitstop.spark.selecting.select import Selecting
from pitstop.spark.selecting.tables import PAGE
from pitstop.sql.mappings import Column, Mapping

pytestmark = pytest.mark.spark

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KNOWN = {"endless": Mapping("endless", "IMap", (Column("__key", "string"), Column("n", "int")))}
NUMBERS = count(1)
"""What is cancelled of one query may be of its number still."""


class EndlessMap:
    """Entries of a map that has always one more page; ``page`` is called with the number of each."""

    def __init__(self, page=lambda number: None):
        self._page, self._pages = page, count(1)
        self._entries = [Entry(f"k{number}", '{"n":1}', NOW, NOW, None, 1) for number in range(PAGE)]

    def entries(self, name, *, after, limit):
        self._page(next(self._pages))
        return self._entries


def never(*stuck):
    raise AssertionError(stuck)


def select(spark, tmp_path, maps, asking, seconds=600.0, text="SELECT COUNT(*) FROM endless", tell=None, stuck=never):
    told = []
    selecting = Selecting(spark, maps, SourceSettings(), tmp_path, stuck)
    asked = Select(next(NUMBERS), text, 1, 1, seconds=seconds)
    # In a thread of its own, as the server does it: what is cancelled is all that the thread asks Spark for.
    with ThreadPoolExecutor(1) as thread:
        tell = tell or (lambda columns, rows: told.append((columns, rows)))
        thread.submit(selecting.run, asked, KNOWN, tell, asking).result(120)
    return told


def test_its_time_counts_from_where_it_reads_a_map(spark, tmp_path):
    said = r"^The query took more than 0.2 seconds, which is the limit of a query: .* more --query-seconds\.$"
    with pytest.raises(UsageError, match=said):
        select(spark, tmp_path, EndlessMap(), Asking(), seconds=0.2)


LIMITS = {
    "--viewer-query-seconds": "which is the limit of a viewer's query",
    "--viewer-seconds-per-hour": "all that you had left of an hour's",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_viewers_query_says_which_limit_it_has_met(spark, tmp_path, limit):
    selecting = Selecting(spark, EndlessMap(), SourceSettings(), tmp_path, never)
    asked = Select(next(NUMBERS), "SELECT COUNT(*) FROM endless", 1, 1, seconds=1.0, limit=limit)
    with pytest.raises(UsageError) as raised:
        selecting.run(asked, KNOWN, lambda *_: None, Asking())
    assert raised.value.message == (
        f"The query took more than 1 second, {LIMITS[limit]}: ask for less, or have the server started with more {limit}."
    )
    assert spark.range(3).count() == 3, "what this thread asks for afterwards is no part of what was cancelled"


def test_a_map_is_read_no_further_when_nobody_wants_the_rows(spark, tmp_path):
    asking, read = Asking(), []

    def page(number):
        read.append(number)
        if number == 3:
            asking.end()

    assert select(spark, tmp_path, EndlessMap(page), asking) == []
    assert read == [1, 2, 3]


class ShortMap(EndlessMap):
    """Twenty entries."""

    def entries(self, name, *, after, limit):
        return self._entries[:20]


LONG = "SELECT __key, repeat('x', 200000) AS text FROM endless ORDER BY 1"


def test_long_rows_come_a_few_at_once(spark, tmp_path):
    (columns, _), *told = select(spark, tmp_path, ShortMap(), Asking(), text=LONG)
    assert [name for name, _ in columns] == ["__key", "text"]
    assert sorted(key for _, rows in told for key, _ in rows) == sorted(f"k{number}" for number in range(20))
    assert max(len(rows) for _, rows in told) == 5


def test_what_a_query_gives_in_all_has_a_bound(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "MOST_BYTES", 3 << 20)
    with pytest.raises(UsageError, match="The query gives more than 3 MiB"):
        select(spark, tmp_path, ShortMap(), Asking(), text=LONG)


def test_a_query_whose_rows_are_not_taken_in_its_time_gives_no_more(spark, tmp_path):
    told, asking = [], Asking()

    def tell(columns, rows):
        if len(told) == 3:
            asking.end(late=True)
        told.append(rows)

    with pytest.raises(UsageError, match=r"^The query took more than 600 seconds, which is the limit of a query"):
        select(spark, tmp_path, ShortMap(), asking, text=LONG, tell=tell)
    assert len(told) == 4


@pytest.mark.long
def test_what_the_driver_cannot_be_stopped_in_is_told(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("pitstop.spark.selecting.select.LEFT_SECONDS", 1.0)
    long = "aggregate(sequence(1, {0}), 0L, (a, x) -> a + {1})"
    text = f"SELECT {long.format(3000, long.format('n', 'x'))} AS n FROM VALUES (20000) AS v (n)"
    stuck = []
    with pytest.raises(UsageError, match=r"^The query took more than 1 second, which is the limit of a query"):
        select(spark, tmp_path, ShortMap(), Asking(), seconds=1.0, text=text, stuck=lambda *what: stuck.append(what))
    ((asked, asking),) = stuck
    assert (asked.query, asking.late) == (text, True)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no", "Path does not exist: file:{folder}"),
        (
            "half",
            "the file {folder}/a.csv.gz is not whole: put it back, or write a file beside its folder and move it there once "
            "it is whole",
        ),
    ],
)
def test_files_that_cannot_be_read_are_told_in_a_sentence(spark, tmp_path, name, told):
    folder = tmp_path / name
    if name == "half":
        folder.mkdir()
        (folder / "a.csv.gz").write_bytes(b"1,2\n")
    columns, options = (Column("a", "int"), Column("b", "int")), {"path": str(folder), "format": "csv"}
    selecting = Selecting(spark, EndlessMap(), SourceSettings(), tmp_path, never)
    asked = Select(next(NUMBERS), "SELECT * FROM lines", 1, 1, seconds=600.0)
    with pytest.raises(UsageError) as raised:
        selecting.run(asked, {"lines": Mapping("lines", "File", columns, options)}, lambda *_: None, Asking())
    assert raised.value.message.endswith(told.format(folder=folder))
    assert "\n" not in raised.value.message
