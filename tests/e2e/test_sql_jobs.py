"""A job written in SQL is changed five times and goes on from its state each time: plain Python computes the same."""

import random
from collections import defaultdict
from datetime import UTC, datetime

import pytest

from pitstop.errors import IncompatibleError, PitstopError
from pitstop.kit.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

SEED, VINS, EVENTS = 16, 7, 400
BEGIN = 1_700_000_040  # the begin of a minute, and of two
MAPPINGS = """
CREATE MAPPING events (vin VARCHAR, speed DOUBLE, at BIGINT) TYPE CsvTail OPTIONS ('path' = '{folder}');
CREATE MAPPING cars (__key VARCHAR, owner VARCHAR) TYPE IMap;
CREATE MAPPING minutes (__key VARCHAR, owner VARCHAR, n BIGINT, total DOUBLE, fastest DOUBLE) TYPE IMap;
CREATE MAPPING hops (__key VARCHAR, n BIGINT) TYPE IMap;
CREATE VIEW timed AS SELECT vin, speed, CAST(at AS TIMESTAMP) AS ts FROM events;
CREATE VIEW ordered AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE timed, DESCRIPTOR(ts), INTERVAL '0' SECONDS));
"""
KEY = "vin || '@' || CAST(unix_seconds(w) AS VARCHAR)"


def insert(cte="speeds", hint="", having="", columns="", size=1, more=""):
    fastest = ", fastest" if columns else ""
    return f"""SINK INTO minutes (__key, owner, n, total{fastest})
        WITH {cte} AS (
            SELECT {hint} window_start AS w, vin, COUNT(*) AS n, SUM(speed) AS total{columns}
            FROM TABLE(TUMBLE(TABLE ordered, DESCRIPTOR(ts), INTERVAL '{size}' MINUTE)) WHERE speed >= 0
            GROUP BY window_start, vin {having})
        SELECT {KEY}, c.owner, n, total{fastest} FROM {cte} AS s JOIN cars AS c ON s.vin = c.__key{more}"""


HOPS = f"""SINK INTO hops
    WITH five AS (
        SELECT window_start AS w, vin, COUNT(*) AS n
        FROM TABLE(HOP(TABLE ordered, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES)) WHERE speed >= 0
        GROUP BY vin, window_start)
    SELECT {KEY}, n FROM five"""
RENAMED, STAGE = {"cte": "velocity", "hint": "/*+ STAGE(speeds) */"}, {"hint": "/*+ STAGE(speeds) */"}
FILTERED = RENAMED | {"having": "HAVING COUNT(*) > 1"}
FASTEST = FILTERED | {"columns": ", MAX(speed) AS fastest"}
LONGER = FASTEST | {"size": 2}
VERSIONS = (
    insert(),
    insert(**RENAMED),
    insert(**FILTERED),
    insert(**FASTEST),
    insert(**LONGER),
    f"BEGIN {insert(**LONGER)}; {HOPS}; END",
)
ENDS = (90, 150, 260, 360, 600, 1_300)
"""Up to which second each version reads; at 360, and at 600, all windows are closed."""


class Feed:
    """Seeded events, written up to a second, and a last one that closes windows and is counted nowhere."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self._file = folder, folder / "events.csv"
        picked = random.Random(SEED)
        self.events = sorted(
            (picked.randrange(0, ENDS[-1] - 10), f"vin-{picked.randrange(VINS)}", picked.choice((1.5, 2.0, 3.25)))
            for _ in range(EVENTS)
        )
        self._written = 0

    def write_until(self, second, closing=None):
        some = [event for event in self.events[self._written :] if event[0] < second]
        self._written += len(some)
        lines = [f"{vin},{speed},{BEGIN + at}\n" for at, vin, speed in some]
        if closing is not None:
            lines.append(f"clock,-1.0,{BEGIN + closing}\n")
        with self._file.open("a") as file:
            file.write("".join(lines))
        self.reached = max((at for at, _, _ in some), default=0) if closing is None else closing
        return len(lines)


def expected_minutes(events):
    """Of each version the windows that it has closed."""
    found = {}
    for at, vin, _ in events:
        size = 60 if at < 360 else 120
        start = at // size * size
        inside = [event for event in events if event[1] == vin and start <= event[0] < start + size]
        value = {"owner": f"owner of {vin}", "n": len(inside), "total": sum(event[2] for event in inside), "fastest": None}
        fresh = [event[2] for event in inside if event[0] >= ENDS[2]]
        if fresh:
            value["fastest"] = max(fresh)
        # Windows that were closed by version 1 or 2 are there whatever they hold; those after that hold two events or more.
        if start + size <= ENDS[1] or len(inside) > 1:
            found[f"{vin}@{BEGIN + start}"] = value
    return found


def closed_until(minutes, second):
    """How many of the windows end until then: those are written by the version that has read so far."""
    starts = [int(key.partition("@")[2]) - BEGIN for key in minutes]
    return sum(start + (60 if start < 360 else 120) <= second for start in starts)


def expected_hops(events):
    """Windows of five minutes, a minute apart, of the events that the last version has read."""
    counts = defaultdict(int)
    for at, vin, _ in events:
        if at >= ENDS[4]:
            for start in range(at // 60 * 60 - 240, at // 60 * 60 + 1, 60):
                counts[f"{vin}@{BEGIN + start}"] += 1
    return {key: {"n": n} for key, n in counts.items()}


def update(client, version):
    client.sql(f"UPDATE JOB speeds AS {VERSIONS[version]}")


def drop_and_create(client, version):
    client.sql("DROP JOB speeds WITH SNAPSHOT kept")
    client.sql(f"CREATE JOB speeds OPTIONS ('initialSnapshotName' = 'kept') AS {VERSIONS[version]}")


@pytest.mark.parametrize("change", [update, pytest.param(drop_and_create, marks=pytest.mark.deep)])
def test_a_job_in_sql_is_changed_five_times_and_each_window_is_right(stack, tmp_path, change):
    client, feed = stack.start_server(), Feed(tmp_path / "feed")
    client.map("cars").put_all({f"vin-{number}": {"owner": f"owner of vin-{number}"} for number in range(VINS)})
    client.sql(MAPPINGS.format(folder=feed.folder))
    client.sql(f"CREATE JOB speeds OPTIONS ('snapshotIntervalMillis' = '500') AS {VERSIONS[0]}")
    minutes, hops = expected_minutes(feed.events), expected_hops(feed.events)
    for version, end in enumerate(ENDS):
        job = client.job("speeds")
        before = job.metrics().input_rows
        last = version == len(ENDS) - 1
        wrote = feed.write_until(end, 360 if version == 3 else 600 if version == 4 else 3_000 if last else None)
        wait_until(lambda job=job, wanted=before + wrote: job.metrics().input_rows >= wanted or job.status.terminal, 120)
        assert not job.status.terminal, job.details.failure
        assert wait_until(lambda: client.map("minutes").size() >= closed_until(minutes, feed.reached), 60)
        if version == 3:
            assert "speeds" in {row["stage"] for row in client.sql("EXPLAIN JOB speeds") if row["keeps_state"]}
            told = list(client.sql(f"CHECK JOB speeds AS {VERSIONS[4]}"))
            assert {row["verdict"] for row in told if row["stage"] == "speeds"} == {"converted"}
            with pytest.raises(IncompatibleError, match="speeds"):
                client.sql(f"UPDATE JOB speeds AS {insert(**FASTEST | {'cte': 'others', 'hint': ''})}")
        if not last:
            change(client, version + 1)
            client.job("speeds").wait_started()
    wait_until(lambda: (client.map("minutes").size(), client.map("hops").size()) == (len(minutes), len(hops)), 60)
    assert client.map("minutes").entries() == minutes
    assert client.map("hops").entries() == hops
    client.sql("DROP JOB speeds")
    with pytest.raises(PitstopError, match="Job already terminated: speeds"):
        client.sql("DROP JOB speeds")


def test_the_clock_of_this_test_begins_with_a_minute():
    assert datetime.fromtimestamp(BEGIN, UTC).second == 0
    assert BEGIN % 120 == 0
