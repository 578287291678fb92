"""A server is backed up while its jobs run, goes on, and is put back, at the same place and at another one: outputs are exact."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="200 ms")
def copied(folder: str, out: str):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="id bigint, k string"), name="rows")
    rows.write_to(ps.sinks.files(out + "/rows", format="json", partition_by=["k"]), name="all")
    counted = rows.group_by("k").rolling_aggregate("counted", n=ps.count())
    counted.select("k", "n").write_to(ps.sinks.files(out + "/counts", format="json"), name="numbered")
    sums = ps.sinks.map("sums", key="k", value="n", merge=lambda old, new: (old or 0) + new)
    counted.select("k", "n").write_to(sums, name="sums")
    return p
"""
KEYS = 3


class Input:
    """Rows that come one after the other, some at once, until it is told to end; what should come of them by plain Python."""

    def __init__(self, folder):
        folder.mkdir()
        self._path, self.rows = folder / "rows.csv", 0
        self._path.touch()
        self._more = threading.Event()
        self._thread = None

    def append(self, count):
        with self._path.open("a") as file:
            file.writelines(f"{number},k{number % KEYS}\n" for number in range(self.rows, self.rows + count))
        self.rows += count

    def begin(self):
        self._more.clear()
        self._thread = threading.Thread(target=self._drip, daemon=True)
        self._thread.start()

    def _drip(self):
        while not self._more.wait(0.05):
            self.append(7)

    def end(self):
        self._more.set()
        self._thread.join()

    @property
    def expected(self):
        counts = Counter(f"k{number % KEYS}" for number in range(self.rows))
        numbered = Counter((key, n) for key, count in counts.items() for n in range(1, count + 1))
        return Counter(range(self.rows)), numbered, {key: count * (count + 1) // 2 for key, count in counts.items()}


class Outputs:
    """What a reader sees of both folders, and of the map."""

    def __init__(self, folder):
        self.folder = folder

    def lines(self, name):
        found = []
        for folder, _, names in os.walk(self.folder / name):
            if "_pitstop" not in folder:
                for file in names:
                    if not file.startswith((".", "_")):
                        found += [json.loads(line) for line in Path(folder, file).read_text().splitlines()]
        return found

    def seen(self, client):
        numbered = Counter((line["k"], line["n"]) for line in self.lines("counts"))
        return Counter(line["id"] for line in self.lines("rows")), numbered, client.map("sums").entries()


class Story:
    def __init__(self, stack, folder):
        from stack import wait_until

        self.stack, self.wait, self.folder = stack, wait_until, folder
        self.input, self.outputs = Input(folder / "in"), Outputs(folder / "out")
        (folder / "job.py").write_text(JOB)
        self.client = stack.start_server()
        job = self.client.submit(folder / "job.py", name="copied", args=[str(folder / "in"), str(folder / "out")])
        job.wait_started()

    def reads_on(self):
        """More rows come and reach all outputs, while the input goes on."""
        before = self.input.rows
        self.wait(lambda: len(self.outputs.lines("counts")) > before + 50, 120, "the job reads on")

    def is_exact(self):
        self.input.end()
        expected = self.input.expected
        self.wait(lambda: len(self.outputs.lines("counts")) >= self.input.rows, 120, "all rows are read")
        self.wait(lambda: sum(map(len, self.outputs.seen(self.client)[:2])) >= 2 * self.input.rows, 30, "all rows are there")
        self.wait(lambda: self.outputs.seen(self.client)[2] == expected[2], 30, "the map is exact")
        assert self.outputs.seen(self.client) == expected

    def shut_down(self):
        self.client.service.shut_down()
        assert self.stack.ended_by_itself("server", 90) == 0

    def start(self, data):
        self.stack.data = data
        self.client = self.stack.start_server()


def pitstop(*arguments):
    command = [sys.executable, "-m", "pitstop.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def story(tmp_path):
    from stack import Stack

    with Stack(tmp_path / "stack", spares=0) as stack:
        yield Story(stack, tmp_path)


def test_it_goes_on_exactly_at_another_place_and_at_the_same_one(story, tmp_path):
    story.input.begin()
    story.reads_on()
    assert "Backup of 1 job and 0 snapshots" in pitstop("-t", story.stack.url, "backup", tmp_path / "first")
    story.reads_on()
    story.shut_down()
    told = pitstop("restore", tmp_path / "first", "--data", tmp_path / "elsewhere")
    assert re.search(
        r"Sink 'all' of job \S+: [1-9]\d* later files? of .*/out/rows moved to .*/out/rows/_pitstop/withdrawn-", told
    )
    story.start(tmp_path / "elsewhere")
    story.reads_on()
    story.is_exact()

    story.input.begin()
    story.client.service.backup(str(tmp_path / "second"))
    story.reads_on()
    story.shut_down()
    shutil.rmtree(tmp_path / "elsewhere")
    pitstop("restore", tmp_path / "second", "--data", tmp_path / "elsewhere")
    story.start(tmp_path / "elsewhere")
    story.reads_on()
    story.is_exact()


def test_a_copy_made_by_hand_loses_nothing_without_a_word_and_a_moved_folder_goes_on(story, tmp_path):
    """Rows under the numbers of epochs that the output had were once "written already": they never came."""
    data = story.stack.data
    story.input.begin()
    story.reads_on()
    story.shut_down()
    shutil.copytree(data, tmp_path / "copy", symlinks=True)
    story.start(data)
    story.reads_on()
    story.shut_down()
    shutil.rmtree(data)
    (tmp_path / "copy").rename(data)

    story.start(data)
    failed = story.client.service.wait_for(story.client.job("copied").id, (JobState.FAILED,), 120)
    assert "and it does not belong to this job's saved state: the data folder was put back from an older copy" in failed.failure
    story.shut_down()
    assert "later file" in pitstop("withdraw", "--data", data)
    data.rename(tmp_path / "moved")
    story.start(tmp_path / "moved")
    job = story.client.job(failed.id)
    job.resume()
    job.wait_started()
    story.reads_on()
    story.is_exact()
