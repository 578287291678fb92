"""Jobs of a real server that write and read Iceberg tables are killed, updated, and gone back with: each row is there once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from pitstop.errors import EngineError

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

COUNTING = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="500 ms")
def counting(folder):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(100), name="numbers").with_columns(key="cast(sequence % 10 as string)")
    rows = numbers.group_by("key").rolling_aggregate("counted", n=ps.count()).select("sequence", "key", "n", "'{mark}' AS mark")
    catalog = {{"type": "sql", "uri": f"sqlite:///{{folder}}/catalog.db", "warehouse": f"file://{{folder}}/warehouse"}}
    rows.write_to(ps.sinks.iceberg("shop.counted", catalog=catalog, partition_by="bucket(2, key)"), name="table")
    return p
"""
KILLS = 2


def test_a_table_has_each_row_once_through_kills_an_update_and_the_way_back(tmp_path):
    from stack import Stack, wait_until

    for mark in ("old", "new"):
        (tmp_path / f"{mark}.py").write_text(COUNTING.format(mark=mark))
    catalog = load_catalog(
        "default", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )

    def rows_of_table():
        there = catalog.table_exists("shop.counted")
        return catalog.load_table("shop.counted").scan().to_arrow().to_pylist() if there else []

    def rows(mark):
        return sum(row["mark"] == mark for row in rows_of_table())

    with Stack(tmp_path / "stack", spares=1) as stack:
        client = stack.start_server()
        job = client.submit(tmp_path / "old.py", args=(str(tmp_path),), name="counting")
        wait_until(lambda: rows("old") > 200, 200, "the first rows")
        for kill in range(KILLS):
            token, before = stack.kill_run(job), rows("old")
            wait_until(
                lambda token=token, before=before: (
                    job.details.token > token and rows("old") > before + 100 and job.status == "RUNNING"
                ),
                200,
                f"rows after kill {kill + 1}",
            )
        with ThreadPoolExecutor(1) as asking:
            unwanted = asking.submit(job.update, tmp_path / "new.py", watch_seconds=600)
            wait_until(lambda: rows("new") > 100, 200, "rows of the new version")
            job.rollback()
            with pytest.raises(EngineError, match="was rolled back on request"):
                unwanted.result()
        wait_until(lambda: rows("new") == 0, 100, "what the new version wrote is withdrawn")
        before = rows("old")
        wait_until(lambda: rows("old") > before + 200, 200, "the first version goes on")
        job.suspend()
        job.update(tmp_path / "new.py")
        job.resume()
        wait_until(lambda: rows("new") > 100, 200, "rows of a version that stays")
        job.suspend()
    lines = rows_of_table()
    assert sorted(row["sequence"] for row in lines) == list(range(len(lines))), "nothing missing, nothing doubled"
    assert all((row["key"], row["n"]) == (str(row["sequence"] % 10), row["sequence"] // 10 + 1) for row in lines)


COPYING = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="500 ms")
def copying(folder):
    p = ps.Pipeline()
    catalog = {{"type": "sql", "uri": f"sqlite:///{{folder}}/catalog.db", "warehouse": f"file://{{folder}}/warehouse"}}
    source = ps.sources.iceberg("shop.numbers", "n bigint, part string", catalog=catalog, max_files={files})
    rows = p.read_from(source, name="rows")
    counted = rows.group_by("part").rolling_aggregate("counted", seen=ps.count())
    counted.select({columns}).write_to(ps.sinks.iceberg("shop.copies", catalog=catalog, schema_mode="merge"), name="out")
    return p
"""
PARTS = 4


class Writer(threading.Thread):
    """Appends numbers in snapshots of several files, until it is told to end."""

    def __init__(self, catalog):
        super().__init__(daemon=True)
        self.catalog, self.count, self.ends = catalog, 0, threading.Event()
        catalog.create_namespace("shop")
        table = catalog.create_table("shop.numbers", pa.schema([("n", pa.int64()), ("part", pa.string())]))
        with table.update_spec() as spec:
            spec.add_identity("part")
        self.append()

    def append(self):
        numbers = range(self.count, self.count + 5 * PARTS)
        rows = pa.table({"n": pa.array(numbers, pa.int64()), "part": [str(n % PARTS) for n in numbers]})
        self.catalog.load_table("shop.numbers").append(rows)
        self.count += 5 * PARTS

    def run(self):
        while not self.ends.wait(0.5):
            self.append()


def test_a_table_is_read_once_through_kills_and_a_changed_plan(tmp_path):
    from stack import Stack, wait_until

    (tmp_path / "one.py").write_text(COPYING.format(files=3, columns='"n", "part", "seen"'))
    (tmp_path / "two.py").write_text(COPYING.format(files=50, columns='"n", "part", "seen", "n * 2 AS twice"'))
    catalog = load_catalog(
        "default", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )

    def copies():
        there = catalog.table_exists("shop.copies")
        return catalog.load_table("shop.copies").scan().to_arrow().to_pylist() if there else []

    writer = Writer(catalog)
    writer.start()
    try:
        with Stack(tmp_path / "stack", spares=1) as stack:
            client = stack.start_server()
            job = client.submit(tmp_path / "one.py", args=(str(tmp_path),), name="copying")
            wait_until(lambda: len(copies()) > 100, 200, "the first rows")
            for kill in range(KILLS):
                token, before = stack.kill_run(job), len(copies())
                wait_until(
                    lambda token=token, before=before: job.details.token > token and len(copies()) > before + 50,
                    200,
                    f"rows after kill {kill + 1}",
                )
            wait_until(lambda: job.status == "RUNNING", 100, "the job runs")
            job.update(tmp_path / "two.py")
            writer.ends.set()
            writer.join()
            wait_until(lambda: len(copies()) >= writer.count, 200, "all rows")
            job.suspend()
    finally:
        writer.ends.set()
    rows = copies()
    assert sorted(row["n"] for row in rows) == list(range(writer.count)), "nothing missing, nothing doubled"
    for part in range(PARTS):
        seen = sorted(row["seen"] for row in rows if row["part"] == str(part))
        assert seen == list(range(1, writer.count // PARTS + 1)), "the state is that of all rows, each once"
    newer = [row for row in rows if row.get("twice") is not None]
    assert newer, "the changed plan has read on"
    assert all(row["twice"] == row["n"] * 2 for row in newer)
