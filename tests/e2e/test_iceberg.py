"""A job of a real server that writes an Iceberg table is killed, updated, and gone back with: the table has each row once."""

from concurrent.futures import ThreadPoolExecutor

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
