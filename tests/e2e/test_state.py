"""State inside a snapshot with real processes: looked at, edited, put back, migrated, and gone on from."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pitstop.errors import IncompatibleError, UsageError
from pitstop.service.api import SubmitRequest

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

COUNTING = """
import pitstop as ps
from pyspark.sql import functions as F

def count(state, row):
    state.n = (state.n or 0) + 1
    return (row.sequence, state.n)

@ps.job(processing_guarantee="exactly_once", partitions=2)
def counting():
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(100), name="numbers").with_columns(key="sequence % 4")
    counted = numbers.group_by("key").map_stateful("counts", count, "n bigint", "sequence bigint, n bigint")
    counted.select("cast(key as string) key", "n").write_to(ps.sinks.map("counts", key="key"), name="map")
    return p
"""
MIGRATED = """
@ps.migrate("counts")
def halves(old):
    return {body}
"""


def migrated(body, key="half", of="sequence % 2"):
    """The job by another key than quarters, with a migration."""
    job = COUNTING.replace('with_columns(key="sequence % 4")', f'with_columns({key}="{of}")')
    job = job.replace('group_by("key")', f'group_by("{key}")').replace("cast(key as string) key", f"cast({key} as string) key")
    return job + MIGRATED.format(body=body)


def test_state_is_queried_edited_and_migrated_by_a_real_server(stack, tmp_path):
    from stack import wait_until

    client = stack.start_server()
    artifact = tmp_path / "counting.py"
    artifact.write_text(COUNTING)
    job = client.submit(artifact, name="counting")
    job.wait_started()
    wait_until(lambda: client.map("counts").size() == 4 and job.metrics().input_rows > 300, 60, "four counts")
    job.cancel_and_export_snapshot("saved")
    manifest = client.service.snapshot("saved")
    rows = client.query_state("saved", "counts", "SELECT key, n FROM state ORDER BY key")
    assert [row["key"] for row in rows] == [0, 1, 2, 3]
    ended = int(next(iter(manifest.offsets["numbers"].values())).split(":")[1].split("}")[0].split(",")[0])
    assert sum(row["n"] for row in rows) == ended
    with pytest.raises(UsageError, match="The query on stage 'counts' failed"):
        client.query_state("saved", "counts", "SELECT nothing FROM state")

    client.export_state("saved", "counts", tmp_path / "counts.parquet")
    table = pq.read_table(tmp_path / "counts.parquet")
    assert sum(table["n"].to_pylist()) == ended
    raised = table.set_column(table.column_names.index("n"), "n", pc.add(table["n"], pa.scalar(1_000_000)))
    pq.write_table(raised, tmp_path / "raised.parquet")
    assert client.import_state("saved", "counts", tmp_path / "raised.parquet", "edited").name == "edited"
    assert [record.name for record in client.snapshots()] == ["edited", "saved"]

    wrong, right = tmp_path / "wrong.py", tmp_path / "right.py"
    wrong.write_text(migrated("old"))
    right.write_text(migrated('old.groupBy((F.col("key") % 2).alias("half")).agg(F.sum("n").alias("n"))'))

    def check(path):
        return client.service.check(SubmitRequest(str(path)), snapshot="edited")

    with pytest.raises(IncompatibleError, match=r"Migration 'halves' of stage 'counts': there is no column 'half' \(bigint\)"):
        check(wrong)
    assert "its state is migrated by 'halves': 4 rows of its state become 2" in check(right).text
    again = client.submit(right, name="halved", initial_snapshot="edited")
    again.wait_started()
    wait_until(lambda: (client.map("counts").get("0") or {"n": 0})["n"] > 2_000_000, 60, "counts that go on from what was edited")

    whole = tmp_path / "whole.py"
    whole.write_text(migrated('old.groupBy(F.lit(7).alias("whole")).agg(F.sum("n").alias("n"))', key="whole", of="7"))
    assert "its state is migrated by 'halves': 2 rows of its state become 1" in again.update(whole).text
    wait_until(lambda: (client.map("counts").get("7") or {"n": 0})["n"] > 4_000_000, 60, "one count of all")
    again.cancel()
