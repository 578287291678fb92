"""Jobs with packages of their own: installed by the server, used where Spark plans, in its Python workers and in the driver."""

import zipfile

import pytest

from pitstop.errors import ArtifactError
from tests.wheels import wheel

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.deep, pytest.mark.timeout(400)]

FEED = """
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from shouting import shout


class Feed(DataSource):
    @classmethod
    def name(cls):
        return "feed"

    def schema(self):
        return "word string"

    def simpleStreamReader(self, schema):
        return FeedReader()


class FeedReader(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {"at": 0}

    def read(self, start):
        end = min(start["at"] + 1, 10_000)
        return iter([(shout(f"source {start['at'] % 4}"),)] if end > start["at"] else []), {"at": end}

    def readBetweenOffsets(self, start, end):
        return iter([(shout(f"source {n % 4}"),) for n in range(start["at"], end["at"])])
"""
JOB = """
import pitstop as ps
import shouting
from shop.feed import Feed


def louder(batches):
    for batch in batches:
        batch["heard"] = [shouting.shout(f"worker {word[-2]}") for word in batch["word"]]
        yield batch


@ps.job(snapshot_interval=0.2, partitions=1)
def hearing(name: str):
    p = ps.Pipeline()
    words = p.read_from(ps.sources.custom(Feed), name="words")
    heard = words.transform(lambda frame: frame.mapInPandas(louder, "word string, heard string"), name="louder")
    heard.write_to(ps.sinks.map(name, key="word"), name=shouting.shout("map").lower().strip("!?"))
    return p
"""


@pytest.fixture
def wheels(tmp_path):
    """Two versions of ``shouting``, which needs ``volume``."""
    folder = tmp_path / "wheels"
    wheel(folder, "volume", files={"volume.py": "def raised(text):\n    return text.upper()\n"})
    for version, mark in (("1.0", "!"), ("2.0", "?")):
        text = f"import volume\n\n\ndef shout(text):\n    return volume.raised(text) + '{mark}'\n"
        wheel(folder, "shouting", version, files={"shouting/__init__.py": text}, needs=("volume", "pyspark>=4"))
    return folder


def archive(tmp_path, requirements):
    path = tmp_path / "shop.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, text in {"shop/__init__": "", "shop/feed": FEED, "shop/job": JOB}.items():
            made.writestr(f"{name}.py", text)
        if requirements is not None:
            made.writestr("requirements.txt", requirements)
    return path


def expected(mark):
    return {f"SOURCE {n}{mark}": {"word": f"SOURCE {n}{mark}", "heard": f"WORKER {n}{mark}"} for n in range(4)}


def test_a_job_uses_its_packages_everywhere_and_an_update_those_of_its_own(tmp_path, wheels):
    from stack import Stack, wait_until

    with Stack(tmp_path / "stack", spares=1) as stack:
        client = stack.start_server(options=("--index", str(wheels)))
        with pytest.raises(ArtifactError, match=r"^The requirements of shop\.zip could not be installed: .*shouting==3"):
            client.submit(archive(tmp_path, "shouting==3\n"), entry="shop.job:hearing", args=["heard"], name="hearing")
        job = client.submit(archive(tmp_path, "shouting<2\n"), entry="shop.job:hearing", args=["heard"], name="hearing")
        heard = client.map("heard")
        wait_until(lambda: heard.entries() == expected("!") or job.status.terminal, 120, "all words of version 1")
        assert heard.entries() == expected("!"), job.details.failure
        folder = job.details.source.dependencies
        kept = {path.name for path in (stack.data / "dependencies").iterdir()}
        assert kept == {folder.rpartition("/")[2]}
        assert not [path for path in (stack.data / "dependencies").rglob("*") if path.stat().st_mode & 0o077]

        job.update(archive(tmp_path, "shouting\n"))
        both = expected("!") | expected("?")
        wait_until(lambda: heard.entries() == both or job.status.terminal, 120, "all words of version 2")
        assert heard.entries() == both, job.details.failure
        assert job.details.source.dependencies != folder

        unnamed = client.submit(archive(tmp_path, None), entry="shop.job:hearing", args=["no"], name="unnamed")
        wait_until(lambda: unnamed.status.terminal, 120, "it fails")
        told = unnamed.details.failure
        assert (
            "module that is not there: shouting. If it is a file of yours, put it into the archive. If a package has it" in told
        )
