"""Jobs in archives: their own sources, functions and helper modules are found by runners and by Spark's Python workers."""

import zipfile

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]

FEED = """
from pyspark.sql.datasource import DataSource, InputPartition, SimpleDataSourceStreamReader


class Feed(DataSource):
    @classmethod
    def name(cls):
        return "feed"

    def schema(self):
        return "n bigint"

    def simpleStreamReader(self, schema):
        return FeedReader()


class FeedReader(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {"at": 0}

    def read(self, start):
        end = min(start["at"] + 10, 100)
        return iter([(n,) for n in range(start["at"], end)]), {"at": end}

    def readBetweenOffsets(self, start, end):
        return iter([(n,) for n in range(start["at"], end["at"])])
"""
COUNTS = """
def count(state, row):
    state.n = (state.n or 0) + 1
    return (state.n,)
"""
JOB = """
import pitstop as ps
from shop.counts import count
from shop.feed import Feed


@ps.job(processing_guarantee="exactly_once", partitions=1)
def counting(name: str):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.custom(Feed), name="numbers").select("cast(n % 4 as string) key")
    counted = numbers.group_by("key").map_stateful("counts", count, "n bigint", "seen bigint")
    counted.write_to(ps.sinks.map(name, key="key"), name="map")
    return p
"""


@pytest.mark.parametrize("suffix", ["zip", pytest.param("whl", marks=pytest.mark.deep)])
def test_a_job_in_an_archive_brings_its_own_source_and_functions(stack, tmp_path, suffix):
    from stack import wait_until

    artifact = tmp_path / ("shop.zip" if suffix == "zip" else "shop-1.0-py3-none-any.whl")
    with zipfile.ZipFile(artifact, "w") as archive:
        for path, text in {"__init__": "", "feed": FEED, "counts": COUNTS, "job": JOB}.items():
            archive.writestr(f"shop/{path}.py", text)
    client = stack.start_server(options=("--spares", "0"))
    job = client.submit(artifact, entry="shop.job:counting", args=[suffix], name="counting")
    found = client.map(suffix)
    expected = [{"key": str(key), "seen": 25} for key in range(4)]
    wait_until(lambda: [found.get(str(key)) for key in range(4)] == expected or job.status.terminal, 90, "all counts")
    assert [found.get(str(key)) for key in range(4)] == expected, job.details.failure
