"""``JobTest`` gives what the same job gives on a server: epochs, state, crashes and updates are those of the engine."""

import dataclasses
from datetime import datetime, timedelta

import pytest

import pitstop as ps
from pitstop.errors import DropError, IncompatibleError, NotFoundError, PitstopError, UsageError
from pitstop.model.report import Verdict

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SCHEMA = "vin string, speed double, at timestamp"


def at(minute, second=0):
    return datetime(2026, 1, 1, 12, minute, second)


@ps.job(max_ahead="unlimited")
def speeds(folder, minutes="1"):
    p = ps.Pipeline()
    rows = p.read_from(
        ps.sources.csv_tail(folder, schema=SCHEMA), name="cars", dead_letters=ps.sinks.files("/unreadable", format="json")
    )
    timed = rows.with_timestamps("at", allowed_lag="10 seconds")
    timed.write_to(ps.sinks.map("latest", key="vin", value="speed"), name="latest")
    windows = (
        timed.group_by("vin").window(ps.tumbling(f"{minutes} minutes")).aggregate("speed", n=ps.count(), top=ps.max("speed"))
    )
    windows.write_to(ps.sinks.files("/out", format="json"), name="out")
    return p


@ps.job
def speeds_with_average(folder):
    p = ps.Pipeline()
    timed = p.read_from(ps.sources.csv_tail(folder, schema=SCHEMA), name="cars").with_timestamps("at", allowed_lag="10 seconds")
    timed.write_to(ps.sinks.map("latest", key="vin", value="speed"), name="latest")
    windows = timed.group_by("vin").window(ps.tumbling("1 minute"))
    windows.aggregate("speed", n=ps.count(), top=ps.max("speed"), mean=ps.avg("speed")).write_to(
        ps.sinks.files("/out", format="json"), name="out"
    )
    return p


@ps.job
def other_job(folder):
    p = ps.Pipeline()
    p.read_from(ps.sources.http_poll("http://other", schema="id string"), name="other").write_to(ps.sinks.noop(), name="nothing")
    return p


def of_out(test):
    return sorted((row["vin"], row["window_start"].minute, row["n"], row["top"]) for row in test.rows("out"))


@pytest.mark.long
def test_a_job_goes_from_epoch_to_epoch_and_from_version_to_version(job_test):
    test = job_test(speeds, "cars")
    assert (test.rows("out"), test.entries("latest"), test.state("speed")) == ([], {}, [])

    test.push("cars", [{"vin": "a", "speed": 10.0, "at": at(0)}, ("a", 30.0, at(0, 5)), ("b", 5.0, at(0, 30))])
    test.epoch()
    assert sorted(test.rows("latest"), key=lambda row: row["at"]) == [
        {"vin": "a", "speed": 10.0, "at": at(0)},
        {"vin": "a", "speed": 30.0, "at": at(0, 5)},
        {"vin": "b", "speed": 5.0, "at": at(0, 30)},
    ]
    assert test.entries("latest") == {"a": 30.0, "b": 5.0}
    assert of_out(test) == []
    assert {(row["vin"], row["n"], row["top"]) for row in test.state("speed")} == {("a", 2, 30.0), ("b", 1, 5.0)}

    test.push("cars", ["rubbish", ("a", 1.0, at(1, 20))])
    test.epoch()  # its rows end the windows of minute 0
    assert of_out(test) == [("a", 0, 2, 30.0), ("b", 0, 1, 5.0)]
    assert [row["text"] for row in test.rows("cars-dead-letters")] == ["rubbish"]
    assert [path.suffix for path in (test.folder / "files" / "unreadable").glob("*.json*")] == [".json"]

    test.push("cars", [("a", 2.0, at(1, 30)), ("b", 7.0, at(1, 40))])
    test.crash()
    test.push("cars", [("b", 8.0, at(1, 50))])
    test.crash(before_sinks=True)
    assert len(test.rows("latest")) == 7
    assert {(row["vin"], row["n"]) for row in test.state("speed")} == {("a", 2), ("b", 2)}

    report = test.upgrade(speeds_with_average)
    assert report.of(Verdict.CONVERTED) == ("speed",)
    test.push("cars", [("b", 9.0, at(1, 55))])
    test.epoch()
    test.advance_time(at(2))
    rows = {row["vin"]: (row["n"], row["top"], row["mean"]) for row in test.rows("out") if row["window_start"] == at(1)}
    assert rows == {"a": (2, 2.0, None), "b": (3, 9.0, 9.0)}


@pytest.mark.long
def test_a_version_that_does_not_fit_is_refused_and_the_present_one_goes_on(job_test):
    test = job_test(speeds, "cars", "1")
    test.push("cars", [("a", 10.0, at(0))])
    test.epoch()
    with pytest.raises(DropError, match="looks like another job's"):
        test.upgrade(other_job, "cars")
    with pytest.raises(IncompatibleError, match="Snapshot 'before-upgrade' does not fit the pipeline: stage 'speed'"):
        test.upgrade(by_other_key, "cars")
    test.push("cars", [("a", 20.0, at(0, 1))])
    test.epoch()
    test.advance_time("5 minutes")
    assert of_out(test) == [("a", 0, 2, 20.0)]


@ps.job
def by_other_key(folder):
    p = ps.Pipeline()
    timed = p.read_from(ps.sources.csv_tail(folder, schema=SCHEMA), name="cars").with_timestamps("at", allowed_lag="10 seconds")
    windows = timed.group_by("speed").window(ps.tumbling("1 minute")).aggregate("speed", n=ps.count(), top=ps.max("vin"))
    windows.write_to(ps.sinks.files("/out", format="json"), name="out")
    return p


def alert(state, row):
    state.n = (state.n or 0) + 1
    return []


def silent(state, key, at):
    return [{"n": state.n}]


@pytest.mark.long
def test_the_clock_goes_on_and_timers_fire(job_test):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.http_poll("http://x", schema="id string"), name="in").with_ingestion_timestamps()
    alerts = rows.group_by("id").map_stateful("silence", alert, "n bigint", "n bigint", ttl="5 minutes", on_evict=silent)
    alerts.write_to(ps.sinks.noop(), name="alerts")
    test = job_test(p)
    test.push("in", [{"id": "a"}, {"id": "b"}])
    test.epoch()
    test.advance_time(timedelta(minutes=4))
    test.push("in", [{"id": "a"}])
    test.epoch()
    assert test.rows("alerts") == []
    test.advance_time("2 minutes")
    assert test.rows("alerts") == [{"id": "b", "n": 1}]
    test.advance_time("4 minutes")
    assert test.rows("alerts") == [{"id": "b", "n": 1}, {"id": "a", "n": 2}]


@pytest.mark.long
def test_sources_are_read_in_one_epoch_and_renamed_ones_go_on(job_test):
    def joined(left):
        p = ps.Pipeline()
        p.read_from(ps.sources.http_poll("http://x", schema="id bigint"), name=left).write_to(ps.sinks.noop(), name="left")
        p.read_from(ps.sources.http_poll("http://y", schema="id bigint"), name="right").write_to(
            ps.sinks.noop(), name="right-out"
        )
        return p

    test = job_test(joined("old"))
    epochs = test.epochs
    test.push("old", [(1,)])
    test.push("right", [(2,)])
    test.epoch()
    assert test.epochs == epochs + 1
    test.push("old", [(3,)])
    test.upgrade(joined("new"), renamed={"new": "old"})
    test.push("new", [(4,)])
    test.epoch()
    assert [row["id"] for row in test.rows("left")] == [1, 3, 4]
    with pytest.raises(NotFoundError, match=r"The job has no source 'old' to push rows into. It has: new, right."):
        test.push("old", [(5,)])


class Fails:
    def write(self, rows, info):
        if rows.count():
            raise ConnectionError("the database is away")


def test_an_error_of_the_job_is_the_error_of_the_test(job_test):
    p = ps.Pipeline()
    p.read_from(ps.sources.http_poll("http://x", schema="id bigint"), name="in").write_to(ps.sinks.custom(Fails()), name="db")
    test = job_test(p)
    test.push("in", [(1,)])
    with pytest.raises(PitstopError, match="the database is away"):
        test.epoch()


def test_what_cannot_be_tested_is_told(job_test):
    p = ps.Pipeline()
    p.read_from(ps.sources.items([(1,)], schema="id bigint"), name="in").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(UsageError, match=r"All sources of 'local' end, so it has no epochs to test: run it with ps.run."):
        job_test(p)
    with pytest.raises(UsageError, match="JobTest does not carry out the option timeout, only a server does"):
        job_test(speeds, "cars", timeout="1 minute")
    with pytest.raises(UsageError, match=r"JobTest takes a function marked with @ps.job, with its arguments, or a pipeline"):
        job_test("speeds.py")


@dataclasses.dataclass
class Order:
    id: int
    placed: datetime


def test_the_first_test_of_the_docs_takes_rows_of_every_form(job_test):
    p = ps.Pipeline()
    p.read_from(ps.sources.http_poll("http://x", schema="id bigint, placed timestamp"), name="in").write_to(
        ps.sinks.noop(), name="out"
    )
    test = job_test(p)
    test.push("in", [Order(1, at(1)), (2, at(2)), {"id": 3}, "no json"])
    test.epoch()
    assert test.rows("out") == [{"id": 1, "placed": at(1)}, {"id": 2, "placed": at(2)}, {"id": 3, "placed": None}]


@ps.job(max_ahead="unlimited")
def priced(folder, table, refresh):
    p = ps.Pipeline()
    prices = p.read_from(ps.sources.files(table, "csv", schema="item string, price int", header=True), name="prices")
    source = ps.sources.files(folder, "json", schema="item string, n int, at timestamp", streaming=True)
    rows = p.read_from(source, name="orders", dead_letters=ps.sinks.files("/unreadable", format="json"))
    once = rows.with_timestamps("at", allowed_lag="1 minute").group_by("n").distinct("once", within="1 hour")
    joined = once.hash_join(prices, on="item", refresh=refresh)
    joined.write_to(ps.sinks.files("/out", format="json"), name="out")
    sums = joined.group_by("item").window(ps.tumbling("10 minutes")).aggregate("sums", total=ps.sum("price"))
    sums.write_to(ps.sinks.files("/sums", format="json"), name="sums-out")
    return p


def prices_of(folder, **prices):
    folder.mkdir(exist_ok=True)
    (folder / "prices.csv").write_text("item,price\n" + "".join(f"{item},{price}\n" for item, price in prices.items()))
    return folder


@pytest.mark.always
def test_tables_of_hash_joins_are_read_again_by_the_clock_of_the_test_alone(job_test, tmp_path):
    test = job_test(priced, "in", str(prices_of(tmp_path / "prices", a=1)), "1 second")
    prices = []
    for number, price in enumerate((2, 3, 4)):
        test.push("orders", [("a", number, at(0))])
        test.epoch()
        prices.append(test.rows("out")[-1]["price"])
        prices_of(tmp_path / "prices", a=price)
        if number == 1:
            test.advance_time("1 second")
    assert prices == [1, 1, 3]
    assert len(test.rows("out")) == 3


def test_windows_behind_a_table_end_after_it_was_read_again_while_no_row_came(job_test, tmp_path):
    test = job_test(priced, "in", str(prices_of(tmp_path / "prices", a=1)), "1 hour")
    test.push("orders", [("a", 1, at(0)), ("a", 2, at(1))])
    test.epoch()
    for price in (5, 1, 5):  # an earlier reading, which no epoch has had, is forgotten
        prices_of(tmp_path / "prices", a=price)
        test.refresh_tables()
    test.advance_time("2 hours")
    assert [(row["window_end"], row["total"]) for row in test.rows("sums-out")] == [(at(10), 2)]
    test.push("orders", [("a", 3, datetime(2026, 1, 1, 15))])
    test.epoch()
    assert test.rows("out")[-1]["price"] == 5
    for price in (6, 5):
        prices_of(tmp_path / "prices", a=price)
        test.refresh_tables()
    test.push("orders", [("a", 4, datetime(2026, 1, 1, 15))])
    test.epoch()
    assert test.rows("out")[-1]["price"] == 5


def test_texts_pushed_into_files_are_parsed_as_files_are(job_test, tmp_path):
    test = job_test(priced, "in", str(prices_of(tmp_path / "prices", a=1)), "1 hour")
    texts = ['{"item": "a", "n": 1, "at": "2026-01-01T13:00:00+01:00"}', '{"item": "ä", "n": 2, "at": "2026-01-01T12:01:00.5"}']
    test.push("orders", [*texts, '{"item": "a", "n": "many"}', "rubbish", {"item": "b", "n": 3, "at": at(2)}])
    test.epoch()
    rows = {row["n"]: (row["item"], row["at"], row["price"]) for row in test.rows("out")}
    half_past = datetime(2026, 1, 1, 12, 1, 0, 500_000)
    assert rows == {1: ("a", at(0), 1), 2: ("ä", half_past, None), 3: ("b", at(2), None)}
    assert [row["text"] for row in test.rows("orders-dead-letters")] == ['{"item": "a", "n": "many"}', "rubbish"]
