"""A job of a real server reads a Delta table while others write it: each row once through kills and a changed plan."""

import json
import os
import threading

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

COPYING = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="500 ms")
def copying(table, out):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.delta(table, "n bigint, part string", max_files={files}), name="rows")
    counted = rows.group_by("part").rolling_aggregate("counted", seen=ps.count())
    counted.select({columns}).write_to(ps.sinks.delta(out, schema_mode="merge"), name="out")
    return p
"""
KILLS = 2
PARTS = 4


class Writer(threading.Thread):
    """Appends numbers in commits of several files, and compacts them now and then, until it is told to end."""

    def __init__(self, table):
        super().__init__(daemon=True)
        self.table, self.count, self.ends = table, 0, threading.Event()
        self.append()

    def append(self):
        numbers = range(self.count, self.count + 5 * PARTS)
        rows = pa.table({"n": pa.array(numbers, pa.int64()), "part": [str(n % PARTS) for n in numbers]})
        write_deltalake(self.table, rows, mode="append", partition_by=["part"])
        self.count += 5 * PARTS

    def run(self):
        turn = 0
        while not self.ends.wait(0.1):
            self.append()
            turn += 1
            if turn % 25 == 0:
                DeltaTable(self.table).optimize.compact()


def rows_of(table):
    return DeltaTable(table).to_pyarrow_table().to_pylist() if os.path.isdir(f"{table}/_delta_log") else []


def test_a_table_is_read_once_through_kills_compaction_and_a_changed_plan(tmp_path):
    from stack import Stack, wait_until

    table, out = str(tmp_path / "table"), str(tmp_path / "out")
    (tmp_path / "one.py").write_text(COPYING.format(files=3, columns='"n", "part", "seen"'))
    (tmp_path / "two.py").write_text(COPYING.format(files=50, columns='"n", "part", "seen", "n * 2 AS twice"'))
    writer = Writer(table)
    writer.start()
    try:
        with Stack(tmp_path / "stack", spares=1) as stack:
            client = stack.start_server()
            job = client.submit(tmp_path / "one.py", args=(table, out), name="copying")
            wait_until(lambda: len(rows_of(out)) > 100, 200, "the first rows")
            for kill in range(KILLS):
                token, before = stack.kill_run(job), len(rows_of(out))
                wait_until(
                    lambda token=token, before=before: job.details.token > token and len(rows_of(out)) > before + 50,
                    200,
                    f"rows after kill {kill + 1}",
                )
            job.update(tmp_path / "two.py")
            writer.ends.set()
            writer.join()
            wait_until(lambda: len(rows_of(out)) >= writer.count, 200, "all rows")
            job.suspend()
    finally:
        writer.ends.set()
    rows = rows_of(out)
    assert sorted(row["n"] for row in rows) == list(range(writer.count)), "nothing missing, nothing doubled"
    for part in range(PARTS):
        seen = sorted(row["seen"] for row in rows if row["part"] == str(part))
        assert seen == list(range(1, writer.count // PARTS + 1)), "the state is that of all rows, each once"
    newer = [row for row in rows if row["twice"] is not None]
    assert newer, "the changed plan has read on"
    assert all(row["twice"] == row["n"] * 2 for row in newer)
    log = DeltaTable(table).history()
    assert any(entry["operation"] == "OPTIMIZE" for entry in log), json.dumps([entry["operation"] for entry in log])
