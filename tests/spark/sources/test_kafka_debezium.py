"""Envelopes of Debezium on a real broker: changes of a table as rows, and as the same table in a map."""

import json
import os
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.model.left_out import LeftOut
from tests.maps import map_store
from tests.spark.harness import Collected
from tests.spark.sources.test_kafka import KafkaHarness

pytestmark = [pytest.mark.spark, pytest.mark.long]

SOURCE = {"version": "3.0.0.Final", "connector": "postgresql", "name": "shop", "db": "shop", "table": "customers", "lsn": 34}


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


def envelope(op, before=None, after=None, wrapped=False):
    """Return a change as Debezium's JSON, with its schema (``schemas.enable``) or without."""
    payload = {"before": before, "after": after, "source": SOURCE, "op": op, "ts_ms": 1764300000000, "transaction": None}
    if not wrapped:
        return json.dumps(payload)
    fields = [{"type": "int64", "optional": False, "field": "ts_ms"}]
    return json.dumps({"schema": {"type": "struct", "fields": fields, "name": "shop.Envelope"}, "payload": payload})


def changes(broker, topic, sink, letters=None, schema="id int, name string", **options):
    p = ps.Pipeline()
    source = ps.sources.kafka(broker.servers, topic, value="debezium", schema=schema, **options)
    rows = p.read_from(source, name="changes", dead_letters=ps.sinks.custom(letters) if letters is not None else None)
    rows.write_to(sink if isinstance(sink, ps.Sink) else ps.sinks.custom(sink), name="sink")
    return p


def sent(broker, topic, values, make=True):
    if make:
        broker.make(topic, 1)
    broker.send(topic, [("k", value, 0) for value in values])


@pytest.mark.parametrize("wrapped", [False, True])
def test_each_change_is_a_row_with_its_operation_and_tombstones_are_counted(broker, harness, wrapped):
    topic = f"changes-{wrapped}"
    one, other = {"id": 1, "name": "a", "more": [1]}, {"id": 1, "name": "b", "more": []}
    values = [
        envelope("r", None, one, wrapped),
        envelope("u", one, other, wrapped),
        envelope("c", None, {"id": 2, "name": None}, wrapped),
        envelope("d", other, None, wrapped),
        None,
        envelope("u", {"id": 2}, {"id": 2, "name": "c"}, wrapped),
    ]
    sent(broker, topic, values)
    sink, letters = Collected(), Collected()
    running = harness.start(
        changes(broker, topic, sink, letters, op_column="change", with_metadata=("offset",)), harness.folder / "checkpoint", 2
    )
    harness.wait_for(running, len(values))
    counts = [
        dict(progress["observedMetrics"]["source:changes"].asDict())
        for progress in running.query.recentProgress
        if "source:changes" in progress["observedMetrics"]
    ]
    running.stop(60)
    assert [tuple(row) for row in sink.rows] == [
        (1, "a", "r", 0),
        (1, "b", "u", 1),
        (2, None, "c", 2),
        (1, "b", "d", 3),
        (2, "c", "u", 5),
    ]
    assert letters.rows == []
    assert [sum(count[name] for count in counts) for name in ("rows", "bad", LeftOut.TOMBSTONE.value)] == [6, 0, 1]


def test_what_is_no_envelope_is_a_dead_letter(broker, harness):
    row = {"id": 1, "name": "a"}
    values = [
        envelope("c", None, row),
        '{"id": 1, "name": "a"}',
        envelope("c", row, None),
        envelope("d", None, row),
        envelope("t"),
        envelope("c", None, {"id": "x"}),
        envelope("c", None, row)[:-1],
        b"\xff",
        "",
        "{}{}",
        '{"schema": null, "payload": null}',
        envelope("r", None, None, wrapped=True),
        "[]",
    ]
    sent(broker, "no-envelopes", values)
    sink, letters = Collected(), Collected()
    harness.run(changes(broker, "no-envelopes", sink, letters), until=len(values))
    assert [tuple(row) for row in sink.rows] == [(1, "a", "c")]
    assert {int(row.place.rpartition(":")[2]): row.error for row in letters.rows} == {
        1: "The envelope has no op.",
        2: "The envelope has the op c but no after.",
        3: "The envelope has the op d but no before.",
        4: "The envelope has the op t, which is not c, r, u or d.",
        5: "The value is not a Debezium envelope with these columns.",
        6: "The value is not a single JSON object.",
        7: "The value is not UTF-8.",
        8: "The value is empty.",
        9: "The value is not a single JSON object.",
        10: "The envelope has no op.",
        11: "The envelope has the op r but no after.",
        12: "The value is not a Debezium envelope with these columns.",
    }


TIMES = "id int, day date, at timestamp, local timestamp_ntz, price decimal(10,2)"


@pytest.mark.parametrize(("unit", "per_second"), [("millis", 1_000), ("micros", 1_000_000)])
def test_times_are_numbers_of_a_unit_or_texts_and_days_are_numbers(broker, harness, unit, per_second):
    topic = f"times-{unit}"
    moment = datetime(1969, 12, 31, 23, 59, 58, 250_000, UTC)
    number = -1_750 * per_second // 1_000
    rows = [
        {"id": 1, "day": -1, "at": number, "local": number, "price": "12.50"},
        {"id": 2, "day": "1969-12-31", "at": "1969-12-31T23:59:58.25Z", "local": "1969-12-31T23:59:58.25", "price": 12.5},
        {"id": 3, "day": None, "at": None, "local": None, "price": None},
        {"id": 4, "at": 2**62},
        {"id": 5, "at": "12:30"},
        {"id": 6, "day": "soon"},
    ]
    sent(broker, topic, [envelope("c", None, row) for row in rows])
    sink, letters = Collected(), Collected()
    harness.run(changes(broker, topic, sink, letters, TIMES, number_times=unit), until=len(rows))
    expected = (date(1969, 12, 31), moment, moment.replace(tzinfo=None), Decimal("12.50"))
    values = [(row.id, row.day, row.at and row.at.astimezone(UTC), row.local, row.price) for row in sink.rows]
    assert values == [(1, *expected), (2, *expected), (3, None, None, None, None)]
    assert [letter.error for letter in letters.rows] == [
        "Column at is not of type timestamp.",
        "Column at is not of type timestamp.",
        "Column day is not of type date.",
    ]


def test_a_number_for_a_time_without_a_unit_is_a_dead_letter(broker, harness):
    sent(broker, "no-unit", [envelope("c", None, {"id": 1, "at": 1764300000})])
    letters = Collected()
    harness.run(changes(broker, "no-unit", Collected(), letters, "id int, at timestamp"), until=1)
    assert [letter.error for letter in letters.rows] == ["Column at is a number: set its unit with number_times."]


def test_a_column_of_the_operation_that_the_table_has_too_is_refused(broker, harness):
    with pytest.raises(UsageError, match=r"Two columns would have the name 'op': .* op_column"):
        harness.start(changes(broker, "nothing", Collected(), schema="id int, Op string"), harness.folder / "checkpoint", 2)


DOCS = Path(__file__).parents[3] / "docs" / "kafka.md"
HISTORY = [
    ("r", None, (1, "Ann", "Bonn")),
    ("r", None, (2, "Bob", "Rome")),
    ("c", None, (3, "Cid", None)),
    ("u", (1, "Ann", "Bonn"), (1, "Ann", "Oslo")),
    ("d", (2, "Bob", "Rome"), None),
    ("u", (3, "Cid", None), (3, "Cid", "Kiel")),
    ("c", None, (4, "Dee", "Nice")),
    ("d", (4, "Dee", "Nice"), None),
    ("c", None, (4, "Dan", "Graz")),
    ("d", (3, "Cid", "Kiel"), None),
]
"""Changes of a table, which then has the rows 1 and 4."""


def image(row):
    return dict(zip(("id", "name", "city"), row, strict=True)) if row is not None else None


def test_the_example_of_the_documentation_keeps_a_map_and_a_table_as_the_database_has_them(broker, spark, tmp_path):
    topic = "shop.public.customers"
    broker.make(topic, 3)
    table, messages = {}, []
    for op, before, after in HISTORY:
        number = (after or before)[0]
        table.pop(number, None)
        if after is not None:
            table[number] = after
        key = json.dumps({"id": number})
        messages.append((key, envelope(op, image(before), image(after)), number % 3))
        if op == "d":
            messages.append((key, None, number % 3))
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL) if "debezium" in block]
    database = None
    if "PITSTOP_TEST_POSTGRES" in os.environ:
        from tests.postgres.server import empty_database

        database = empty_database()
        with psycopg.connect(database) as connection:
            connection.execute("CREATE TABLE customers (id bigint PRIMARY KEY, name text, city text)")
    else:  # there is no PostgreSQL here: the map alone
        example = re.sub(r"(?s)    changes\.write_to\(\n        ps\.sinks\.postgres.*?\n    \)\n", "", example)
    names = {}
    exec(compile(example, str(DOCS), "exec"), names)
    maps = map_store(tmp_path)
    harness = KafkaHarness(spark, tmp_path, maps=maps)
    running = harness.start(names["customers"](broker.servers, database), harness.folder / "checkpoint", 2)
    for message in messages:  # several epochs, as changes come
        broker.send(topic, [message])
    harness.wait_for(running, len(messages))
    running.stop(60)
    entries = {int(entry.key): json.loads(entry.value) for entry in maps.entries("customers")}
    assert entries == {number: {"name": row[1], "city": row[2]} for number, row in table.items()}
    assert sorted(entries) == [1, 4]
    if database is not None:
        with psycopg.connect(database) as connection:
            assert connection.execute("SELECT * FROM customers ORDER BY id").fetchall() == sorted(table.values())
