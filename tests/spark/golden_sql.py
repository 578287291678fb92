"""A recorded job in SQL: its text, its state and its input, small. ``python -m tests.spark.golden_sql`` records one.

Once released it is never written again: what a release saves in another form is a further file, ``sql-job-2.tar.gz``.
"""

import csv
import json
import random
import tarfile
import tempfile
from collections import defaultdict
from datetime import datetime
from pathlib import Path

from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.export import export_checkpoint
from pitstop.sql.programs import read_program
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from tests.spark.harness import Harness

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDER = "/recorded"
"""What the recorded text calls the folder of its files."""
SEED, EVENTS, CUT, KEYS, SECONDS = 16, 400, 230, 4, 1_800
BEGIN = 1_700_000_040
"""The begin of a minute, and of three."""
MINUTE, THREE, TIMEOUT, NEAR = 60, 180, 20, 5
TEXT = f"""
CREATE MAPPING events (k VARCHAR, v INT, at BIGINT) TYPE CsvTail OPTIONS ('path' = '{FOLDER}/input');
CREATE MAPPING others (k VARCHAR, v INT, at BIGINT) TYPE CsvTail OPTIONS ('path' = '{FOLDER}/input');
CREATE VIEW timed AS SELECT k, v, CAST(at AS TIMESTAMP) AS ts FROM events;
CREATE VIEW ordered AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE timed, DESCRIPTOR(ts), INTERVAL '2' SECONDS));
CREATE VIEW timed_others AS SELECT k, v, CAST(at AS TIMESTAMP) AS ts FROM others WHERE v = 1;
CREATE VIEW ordered_others AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE timed_others, DESCRIPTOR(ts), INTERVAL '2' SECONDS));
CREATE MAPPING minutes (w BIGINT, k VARCHAR, n BIGINT, total BIGINT, mean DOUBLE, least INT, most INT, kinds BIGINT)
    TYPE File OPTIONS ('path' = '{FOLDER}/out/minutes', 'format' = 'json');
CREATE MAPPING hops (w BIGINT, k VARCHAR, n BIGINT) TYPE File OPTIONS ('path' = '{FOLDER}/out/hops', 'format' = 'json');
CREATE MAPPING visits (w BIGINT, until BIGINT, k VARCHAR, n BIGINT, total BIGINT)
    TYPE File OPTIONS ('path' = '{FOLDER}/out/visits', 'format' = 'json');
CREATE MAPPING pairs (k VARCHAR, a BIGINT, b BIGINT) TYPE File OPTIONS ('path' = '{FOLDER}/out/pairs', 'format' = 'json');
CREATE MAPPING seen (k VARCHAR, v INT, at BIGINT) TYPE File OPTIONS ('path' = '{FOLDER}/out/seen', 'format' = 'json');
CREATE MAPPING totals (__key VARCHAR, n BIGINT, total BIGINT, mean DOUBLE) TYPE IMap;
CREATE JOB recorded AS BEGIN
    INSERT INTO minutes
        SELECT unix_seconds(window_start), k, COUNT(*), SUM(v), AVG(v), MIN(v), MAX(v) FILTER (WHERE v < 8), COUNT(DISTINCT v)
        FROM TABLE(TUMBLE(TABLE ordered, DESCRIPTOR(ts), INTERVAL '{MINUTE}' SECONDS)) GROUP BY window_start, k;
    INSERT INTO hops
        WITH three AS (
            SELECT window_start AS w, k, COUNT(*) AS n
            FROM TABLE(HOP(TABLE ordered, DESCRIPTOR(ts), INTERVAL '{MINUTE}' SECONDS, INTERVAL '{THREE}' SECONDS))
            GROUP BY window_start, k)
        SELECT unix_seconds(w), k, n FROM three;
    INSERT INTO visits
        SELECT /*+ STAGE(stays) */ unix_seconds(window_start), unix_seconds(window_end), k, COUNT(*), SUM(v)
        FROM TABLE(SESSION(TABLE ordered, DESCRIPTOR(ts), INTERVAL '{TIMEOUT}' SECONDS)) GROUP BY window_start, window_end, k;
    INSERT INTO pairs
        SELECT a.k, unix_seconds(a.ts), unix_seconds(b.ts) FROM ordered AS a JOIN ordered_others AS b
        ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '{NEAR}' SECONDS AND b.ts + INTERVAL '{NEAR}' SECONDS;
    INSERT INTO seen SELECT k, v, unix_seconds(ts) FROM (SELECT DISTINCT k, v, ts FROM ordered) AS each;
    SINK INTO totals SELECT k, COUNT(*), SUM(v), AVG(v) FROM ordered GROUP BY k;
END
"""


def events():
    """[(key, value, second)], in the order of their seconds, some twice; the last one closes all windows of the others."""
    chosen = random.Random(SEED)
    found = [(f"k{chosen.randrange(KEYS)}", chosen.randrange(10), BEGIN + chosen.randrange(SECONDS)) for _ in range(EVENTS)]
    return [*sorted(found + found[::10], key=lambda event: event[2]), ("last", 1, BEGIN + 10 * SECONDS)]


class Recorded:
    """The job in a folder of its own."""

    def __init__(self, spark, folder):
        self.folder, self.maps = folder, SqlMapStore(open_database(sqlite_url(folder / "store.db")))
        self.harness = Harness(spark, folder, self.maps)
        self.epochs = 0

    def run(self, text):
        """Let the job of a text go on with all that its input has by now."""
        pipeline = read_program(text.replace(FOLDER, str(self.folder))).definition().build(())
        harness, checkpoint, partitions = self.harness, self.folder / f"checkpoint-{self.harness.runs}", 2
        if harness.runs:
            partitions = harness.restore(pipeline, checkpoint, None, None, True)
        running = harness.start(pipeline, checkpoint, partitions)
        running.query.processAllAvailable()
        harness.settle(running)
        running.stop(60)
        export_checkpoint(running.checkpoint, DataFolder(self.folder).snapshot("saved"), "saved")
        harness.runs += 1

    def written(self):
        """Sink -> its rows: of files all that were written, of the map what is there."""
        found = {name: [] for name in ("minutes", "hops", "visits", "pairs", "seen")}
        for name, rows in found.items():
            for path in sorted((self.folder / "out" / name).glob("*.json")):
                rows += [json.loads(line) for line in path.read_text().splitlines()]
        return found | {"totals": [json.loads(each.value) | {"k": each.key} for each in self.maps.entries("totals")]}


def write_events(path, some):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(some)


def read_events(folder):
    return [(k, int(v), int(at)) for path in sorted(folder.glob("*.csv")) for k, v, at in csv.reader(path.open())]


def windows(some, size, slide):
    """(start, key) -> the values of its events, of all windows but those of the last event."""
    found = defaultdict(list)
    for k, v, at in some[:-1]:
        for start in range(at - at % slide, at - size, -slide):
            found[start, k].append(v)
    return found


def visits(some):
    found = []
    for key in sorted({k for k, _, _ in some[:-1]}):
        for _, v, at in sorted((event for event in some[:-1] if event[0] == key), key=lambda event: event[2]):
            if found and found[-1]["k"] == key and at < found[-1]["until"]:
                found[-1] |= {"until": at + TIMEOUT, "n": found[-1]["n"] + 1, "total": found[-1]["total"] + v}
            else:
                found.append({"w": at, "until": at + TIMEOUT, "k": key, "n": 1, "total": v})
    return found


def expected(some):
    """What plain Python makes of the events."""
    by_key = defaultdict(list)
    for k, v, _ in some:
        by_key[k].append(v)
    near = [(a, b) for a in some for b in some if a[0] == b[0] and b[1] == 1 and abs(a[2] - b[2]) <= NEAR]
    return {
        "minutes": [minute(*window, values) for window, values in windows(some, MINUTE, MINUTE).items()],
        "hops": [{"w": w, "k": k, "n": len(values)} for (w, k), values in windows(some, THREE, MINUTE).items()],
        "visits": visits(some),
        "pairs": [{"k": a[0], "a": a[2], "b": b[2]} for a, b in near],
        "seen": [{"k": k, "v": v, "at": at} for k, v, at in sorted(set(some))],
        "totals": [{"k": k, "n": len(v), "total": sum(v), "mean": sum(v) / len(v)} for k, v in by_key.items()],
    }


def minute(start, key, values):
    low = [value for value in values if value < 8]
    found = {"w": start, "k": key, "n": len(values), "total": sum(values), "mean": sum(values) / len(values)}
    found |= {"least": min(values), "kinds": len(set(values))}
    return found | ({"most": max(low)} if low else {})


def in_order(rows):
    """Rows of JSON, in which a field that is null may be left out, in an order of their own."""
    return sorted(json.dumps({name: value for name, value in row.items() if value is not None}, sort_keys=True) for row in rows)


def main():
    from pitstop.model.cluster import ClusterSettings
    from pitstop.spark.base.session import build_session
    from pitstop.spark.sources import register

    number = len(list(GOLDEN.glob("sql-job-*.tar.gz"))) + 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = build_session(ClusterSettings("local[2]"), folder / "work")
        register(spark)
        recorded, some = Recorded(spark, folder), events()
        write_events(folder / "input" / "events-1.csv", some[:CUT])
        recorded.run(TEXT)
        write_events(folder / "input" / "events-2.csv", some[CUT:])
        (folder / "job.sql").write_text(TEXT)
        (folder / "written.json").write_text(json.dumps(recorded.written()))
        with tarfile.open(GOLDEN / f"sql-job-{number}.tar.gz", "w:gz") as archive:
            for each in ("snapshots/saved", "input", "job.sql", "written.json"):
                archive.add(folder / each, each)
        spark.stop()
    print(f"recorded on {datetime.now():%Y-%m-%d}: sql-job-{number}.tar.gz")


if __name__ == "__main__":
    main()
