"""The state of checkpoints of every release of Spark, read as rows: those that plain Python computes from the recorded events."""

import json
import shutil
from datetime import UTC, datetime

import fsspec
import pytest

from pitstop.errors import NotFoundError, SnapshotError, UsageError
from pitstop.spark.adopting.looking import OperatorState
from tests.spark.adopting.plain import content_of
from tests.spark.adopting.test_recorded import RECORDED, START, WATERMARK, unpacked, windows
from tests.unit.doctor.recorded import names

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

EVENTS = [event for events in RECORDED for event in events]
ALWAYS = {("3.5", "sessions-hdfs"), ("4.1", "window-format2"), ("4.3", "join-changelog"), ("4.3", "processor")}
"""Recorded checkpoints whose state is read in every run of the tests."""
BY_ADOPTION = ("left-", "right-", "full-", "semi-", "processor-ttl")
"""Scenarios whose state is compared by the rows of the job that goes on from it alone (test_recorded)."""
SEEN = {"__dummy__": None}


def rows_of(spark, checkpoint, scratch, operator=None, sql="SELECT * FROM state", limit=1000):
    state = OperatorState.open(str(checkpoint), operator)
    return state.query(spark.newSession(), scratch, sql, limit)


def moment(seconds):
    return datetime.fromtimestamp(START + seconds, UTC).isoformat()


def open_windows(events, watermark, *aggregates):
    return [
        [
            {"window": {"start": moment(start), "end": moment(start + 10)}, "name": name},
            dict(zip(aggregates, values, strict=False)),
        ]
        for (start, name), values in windows(events).items()
        if start + 10 > watermark
    ]


def open_sessions():
    sessions = []
    for who in "ab":
        for when in sorted(event[2] for event in EVENTS if event[1] == who):
            if sessions and sessions[-1][0] == who and when < sessions[-1][2]:
                sessions[-1][2:] = [when + 5, sessions[-1][3] + 1]
            else:
                sessions.append([who, when, when + 5, 1])
    return [
        [
            {"name": who, "sessionStartTime": moment(start)},
            {"session_window": {"start": moment(start), "end": moment(end)}, "name": who, "count": count},
        ]
        for who, start, end, count in sessions
        if end > WATERMARK
    ]


def joinable():
    """The rows of both sides that may still find a partner: payments come within five seconds after their order."""
    left = [(one, {"id": one, "ordered": utc(at), "amount": amount}) for one, _, at, amount in EVENTS if at + 5 >= WATERMARK]
    right = [(one, {"paid_id": one, "paid": utc(at), "name": name}) for one, name, at, _ in EVENTS if at >= WATERMARK]
    return [[side, {"field0": one}, value] for side, rows in (("left", left), ("right", right)) for one, value in rows]


def utc(seconds):
    return moment(seconds).replace("+00:00", ".000Z")


def variables():
    rows = []
    for who in "ab":
        own = [event for event in EVENTS if event[1] == who]
        rows.append(["total", {"name": who}, {"rows": len(own), "amount": sum(event[3] for event in own)}])
        rows += [["recent", {"name": who}, {"list_element": {"id": event[0]}}] for event in own]
        rows += [
            ["by_id", {"name": who}, {"user_map_key": {"id": event[0]}, "user_map_value": {"amount": event[3]}}] for event in own
        ]
    return rows


def moments():
    return [[{"at": moment(at), "name": name}, {"count": 1, "sum": amount}] for _, name, at, amount in EVENTS if at > WATERMARK]


def names_counted(form):
    return [[{"name": who}, form(sum(event[1] == who for event in EVENTS))] for who in "ab"]


def seen():
    return [[{"id": one, "at": moment(at)}, SEEN] for one, _, at, _ in EVENTS if at > WATERMARK]


def seen_within():
    return [[{"id": one}, {"expiresAtMicros": (START + at + 10) * 1_000_000}] for one, _, at, _ in EVENTS if at + 10 > WATERMARK]


def expected(scenario, operator, checkpoint):
    kind = scenario.partition("-")[0]
    if scenario == "rate":
        log = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name)).name
        offset = json.loads((checkpoint / "offsets" / log).read_text().splitlines()[-1])["offset"]
        return [[{"value": number}, SEEN] for number in range(offset)]
    if scenario == "unfinished":
        return open_windows([event for events in RECORDED[:2] for event in events], 5, "count", "sum")
    if scenario in ("chain", "window-named") and operator == 0:
        return open_windows(EVENTS, WATERMARK, "count")
    return {
        "window": lambda: open_windows(EVENTS, WATERMARK, "count", "sum"),
        "chain": seen,
        "moments": moments,
        "dedup": {
            "dedup-hdfs": seen,
            "dedup-within": seen_within,
            "dedup-changelog": lambda: [[{"id": event[0]}, SEEN] for event in EVENTS],
        }.get(scenario),
        "sessions": open_sessions,
        "join": joinable,
        "rolling": lambda: names_counted(lambda count: {"count": count}),
        "pandas": lambda: names_counted(lambda count: {"groupState": {"events": count}}),
        "processor": variables,
    }[kind]()


def cases():
    for release, scenario in names():
        marks = [] if (release, scenario) in ALWAYS else [pytest.mark.long]
        if scenario != "stateless" and not scenario.startswith(BY_ADOPTION):
            for operator in (0, 1) if scenario == "chain" else (0,):
                yield pytest.param(release, scenario, operator, id=f"{release}-{scenario}-{operator}", marks=marks)


def in_order(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize(("release", "scenario", "operator"), list(cases()))
def test_the_rows_of_a_recorded_operator(spark, tmp_path, release, scenario, operator):
    checkpoint = unpacked(release, scenario, tmp_path, tmp_path / "inputs")
    before = content_of(checkpoint)
    read = rows_of(spark, checkpoint, tmp_path / "scratch", operator)
    assert content_of(checkpoint) == before
    columns = [name for name, _ in read.columns]
    if scenario.startswith(("join", "processor")):
        assert columns == ["store", "key", "value"]
        rows = [[store, json.loads(key), json.loads(value)] for store, key, value in read.rows]
    else:
        assert columns == ["key", "value"]
        rows = read.rows
    assert in_order(rows) == in_order(expected(scenario, operator, checkpoint))
    assert not read.more


def test_sql_selects_and_the_limit_leaves_out(spark, tmp_path):
    checkpoint = unpacked("4.2", "window-rocksdb", tmp_path, tmp_path / "inputs")
    sql = "SELECT key.name, sum(value.count) AS events FROM state GROUP BY ALL ORDER BY name"
    read = rows_of(spark, checkpoint, tmp_path / "scratch", sql=sql, limit=1)
    assert read.columns == [("name", "string"), ("events", "bigint")]
    assert (read.rows, read.more) == ([["a", 6]], True)


def test_a_checkpoint_in_an_object_store(spark, tmp_path):
    checkpoint = unpacked("3.5", "pandas-state-rocksdb", tmp_path, tmp_path / "inputs")
    store = fsspec.filesystem("memory")
    store.put(str(checkpoint), "/looked-at", recursive=True)
    try:
        read = rows_of(spark, "memory://looked-at", tmp_path / "scratch")
    finally:
        store.rm("/looked-at", recursive=True)
    assert in_order(read.rows) == in_order(expected("pandas-state-rocksdb", 0, checkpoint))


def refused(spark, checkpoint, scratch, error, **query):
    with pytest.raises(error) as caught:
        rows_of(spark, checkpoint, scratch, **query)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_what_cannot_be_read_is_one_sentence(spark, tmp_path):
    chain = unpacked("4.3", "chain", tmp_path, tmp_path / "inputs")
    listed = "0 (aggregate by window, name), 1 (dropDuplicates by id, at)"
    assert refused(spark, chain, tmp_path / "a", UsageError) == (
        f"Checkpoint {chain} has several operators with state: choose one by --operator: {listed}."
    )
    assert refused(spark, chain, tmp_path / "a", NotFoundError, operator=7) == (
        f"Checkpoint {chain} has no operator 7 with state. It has: {listed}."
    )
    stateless = unpacked("4.3", "stateless", tmp_path, tmp_path / "inputs")
    assert refused(spark, stateless, tmp_path / "a", NotFoundError) == f"Checkpoint {stateless} has no operator with state."
    wrong = refused(spark, chain, tmp_path / "a", UsageError, operator=0, sql="SELECT key.nothing FROM state")
    assert wrong.startswith("The query on operator 0 failed: ")
    assert "nothing" in wrong
    assert refused(spark, chain, tmp_path / "b", UsageError, operator=0, sql="SELEC 1").startswith(
        "The query on operator 0 failed"
    )
    assert refused(spark, chain, tmp_path / "c", UsageError, operator=0, sql="DROP VIEW state") == (
        "The query on operator 0 is not a query: write SELECT ... FROM state."
    )


def test_damage_to_an_operator_is_told_and_another_one_is_read(spark, tmp_path):
    checkpoint = unpacked("4.3", "chain", tmp_path, tmp_path / "inputs")
    shutil.rmtree(checkpoint / "state" / "1" / "0")
    said = refused(spark, checkpoint, tmp_path / "a", SnapshotError, operator=1)
    assert said.startswith("The state of operator 1 is damaged: ")
    assert said.endswith(" pitstop doctor says what to do.")
    read = rows_of(spark, checkpoint, tmp_path / "b", 0)
    assert in_order(read.rows) == in_order(expected("chain", 0, checkpoint))


def test_a_query_without_a_committed_epoch_has_no_state(spark, tmp_path):
    checkpoint = unpacked("4.3", "window-hdfs", tmp_path, tmp_path / "inputs")
    shutil.rmtree(checkpoint / "commits")
    assert "has committed no epoch yet" in refused(spark, checkpoint, tmp_path / "a", SnapshotError)


def test_bytes_that_changed_unnoticed_are_one_sentence(spark, tmp_path):
    """In a table of RocksDB without notes of checksums, only Spark itself notices a changed byte."""
    checkpoint = unpacked("3.5", "window-rocksdb", tmp_path, tmp_path / "inputs")
    for table in checkpoint.glob("state/0/*/SSTs/*.sst"):
        content = bytearray(table.read_bytes())
        content[: len(content) // 2] = bytes(len(content) // 2)
        table.write_bytes(content)
        table.with_name(f".{table.name}.crc").unlink()
    assert refused(spark, checkpoint, tmp_path / "a", UsageError).startswith("The query on operator 0 failed: ")
