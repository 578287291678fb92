"""Rows that a test pushes become what a source's reader would bring."""

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.sql import Row

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.testing.feeds import Feed

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

AT = datetime(2026, 1, 1, 12, 30)


def unread(source, texts):
    raise AssertionError("only files are read by Spark's own reader")


def feed(source):
    p = ps.Pipeline()
    p.read_from(source, name="in")
    return Feed.of("in", p.nodes[0], None)


def cars(**options):
    return feed(ps.sources.csv_tail("cars", schema="vin string, speed double, at timestamp, ok boolean", **options))


@dataclasses.dataclass
class Car:
    vin: str
    speed: float
    at: datetime
    ok: bool = True


@pytest.mark.parametrize(
    "row",
    [
        {"vin": "a", "speed": 1.5, "at": AT, "ok": True},
        ("a", 1.5, AT, True),
        ["a", 1.5, AT, True],
        Row(vin="a", speed=1.5, at=AT, ok=True),
        Car("a", 1.5, AT),
    ],
)
def test_each_form_of_a_row_is_one_line_of_csv(row):
    assert cars().rows([row], unread) == [["a,1.5,2026-01-01T12:30:00Z,true"]]


def test_a_column_that_is_missing_is_null():
    assert cars().rows([{"vin": "a"}], unread) == [["a,,,"]]


@pytest.mark.parametrize(
    ("text", "field"), [("", '""'), ("a;b", '"a;b"'), ('say "no"', '"say ""no"""'), (" a", '" a"'), ("a,b", "a,b")]
)
def test_a_text_stands_in_quotes_where_it_must(text, field):
    assert cars(separator=";").rows([(text, None, None, None)], unread) == [[f"{field};;;"]]


def test_a_text_is_a_line_as_it_is():
    assert cars().rows(["rubbish,x"], unread) == [["rubbish,x"]]


def test_a_row_of_json_keeps_its_nested_values():
    polled = feed(ps.sources.http_poll("http://x", schema="id bigint, at timestamp, price decimal(10,2), tags array<string>"))
    (text,) = polled.rows([{"id": 1, "at": AT.replace(tzinfo=UTC), "price": Decimal("1.50"), "tags": ["ä"]}], unread)[0]
    assert text == '{"id": 1, "at": "2026-01-01T12:30:00+00:00", "price": "1.50", "tags": ["ä"]}'


def test_metadata_of_a_message_stand_beside_its_value():
    topic = feed(ps.sources.kafka("localhost:9092", "orders", schema="id bigint", with_metadata=["key", "offset"]))
    assert [field.simpleString() for field in topic.raw] == ["value:string", "key:string", "offset:bigint"]
    assert topic.rows([{"id": 1, "key": "k", "offset": 7}, "no json"], unread) == [['{"id": 1}', "k", 7], ["no json", None, None]]


def test_files_have_rows_and_texts_that_cannot_be_read():
    files = feed(ps.sources.files("in", format="json", schema="id bigint", streaming=True))
    assert files.raw.fieldNames() == ["id", "__corrupt", "__place"]
    read = {"{": {"id": None, "__corrupt": "{"}, '{"id": 2}': {"id": 2, "__corrupt": None}}
    rows = files.rows(["{", (1,), '{"id": 2}'], lambda source, texts: [read[text] for text in texts])
    assert rows == [[1, None, None], [None, "{", None], [2, None, None]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"win": 1}], "Source 'in' has no column 'win'. It has: vin, speed, at, ok."),
        ([("a", 1.5)], r"A row of source 'in' is \('a', 1.5\): give a dict, or a value for each of vin, speed, at, ok."),
        ([5], "A row of source 'in' is 5: give a dict"),
        ({"vin": "a"}, r"takes a list of rows, not one row: put it into \[ \]."),
        ("a,1", "takes a list of rows, not one row"),
    ],
)
def test_a_row_that_does_not_fit_is_named(rows, message):
    with pytest.raises(UsageError, match=message):
        cars().rows(rows, unread)


def test_a_source_that_reads_no_text_takes_none():
    with pytest.raises(UsageError, match="Source 'in' has no rows of text: push rows of its columns"):
        feed(ps.sources.custom(object, schema="id bigint")).rows(["x"], unread)
