"""An update that fails late, or is not wanted after all, leaves nothing behind: what its version wrote is withdrawn."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from pitstop.errors import EngineError
from pitstop.model.job import JobState
from tests.e2e import counting

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.deep, pytest.mark.timeout(900)]

KEEPING = """
import pitstop as ps

def add(old, new):
    return dict(new, n=(old or dict(n=0))["n"] + {weight})

def seen(state, row):
    state.n = (state.n or 0) + 1
    {body}
    return (row.sequence, state.n)

@ps.job(processing_guarantee="exactly_once", partitions=1, snapshot_interval="500 ms")
def keeping(folder):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(20), name="numbers").with_columns(key="'all'")
    rows = numbers.group_by("key").map_stateful("seen", seen, "n bigint", "sequence bigint, n bigint")
    rows = rows.select("sequence", "n", "sequence % 4 part", "'{mark}' mark")
    rows.write_to(ps.sinks.files(folder, format="json", partition_by=["part"]), name="rows")
    rows.select("part", "mark").write_to(ps.sinks.map("parts", key="part", update=add), name="parts")
    return p
"""
FAILS_LATE = "assert row.sequence < 200 or row.sequence % 40, 'late and for good'"


def artifact(folder, name, mark, weight, body="pass"):
    path = folder / f"{name}.py"
    path.write_text(KEEPING.format(mark=mark, weight=weight, body=body))
    return path


def lines_of(folder):
    return [json.loads(line) for file in folder.glob("part=*/*.json") for line in file.open()]


def check_all_is_of_the_first_version(client, job, folder):
    """Files and map hold every number once, as the first version writes them, up to where the job stands."""
    job.suspend()
    lines = lines_of(folder)
    assert sorted(line["sequence"] for line in lines) == list(range(len(lines)))
    assert {line["mark"] for line in lines} == {"old"}
    assert all(line["n"] == line["sequence"] + 1 for line in lines)
    counted = Counter(number % 4 for number in range(len(lines)))
    entries = client.map("parts").entries()
    assert {key: entry["n"] for key, entry in entries.items()} == {str(part): n for part, n in counted.items()}
    assert {entry["mark"] for entry in entries.values()} == {"old"}
    return len(lines)


def test_what_a_version_wrote_that_is_gone_back_from_is_withdrawn(stack, tmp_path):
    from stack import wait_until

    client, folder = stack.start_server(), tmp_path / "rows"
    job = client.submit(artifact(tmp_path, "old", "old", 1), args=[str(folder)], name="keeping")
    job.wait_started()
    wait_until(lambda: len(lines_of(folder)) > 40, 120, "the first version has written")

    def new_rows():
        return sum(line["mark"] == "new" for line in lines_of(folder))

    with ThreadPoolExecutor(1) as asking:
        unwanted = asking.submit(job.update, artifact(tmp_path, "unwanted", "new", 1000), watch_seconds=600)
        wait_until(
            lambda: new_rows() > 20 and client.map("parts").get("0")["mark"] == "new", 180, "the second version has written"
        )
        job.rollback()
        with pytest.raises(EngineError, match="Version 2 of job 'keeping' was rolled back on request"):
            unwanted.result()
    job.wait_started()
    before = check_all_is_of_the_first_version(client, job, folder)
    assert "Withdrawn of what it had written:" in job.details.update_failure

    job.resume()
    job.wait_started()
    wait_until(lambda: len(lines_of(folder)) > before + 20, 90, "the first version goes on")
    with pytest.raises(EngineError, match="late and for good"):
        job.update(artifact(tmp_path, "late", "new", 1000, FAILS_LATE), watch_seconds=600)
    wait_until(lambda: job.status is JobState.RUNNING, 90, "the first version goes on by itself")
    lines = len(lines_of(folder))
    wait_until(lambda: len(lines_of(folder)) > lines + 20, 90, "the first version writes")
    check_all_is_of_the_first_version(client, job, folder)


ELSEWHERE = """
import pitstop as ps

@ps.job(snapshot_interval="1 second")
def elsewhere(folder):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(100), name="numbers")
    rows.write_to(ps.sinks.files(folder + "-of-version-2", format="json"), name="others")
    return p
"""


def test_a_version_goes_on_from_its_own_snapshot_and_reads_again_what_came_since(stack, tmp_path):
    from stack import wait_until

    client, folder = stack.start_server(), tmp_path / "numbers"
    (tmp_path / "first.py").write_text(counting.COUNTING)
    (tmp_path / "second.py").write_text(ELSEWHERE)
    job = client.submit(tmp_path / "first.py", args=[str(folder)], name="counting")
    job.wait_started()
    wait_until(lambda: len(counting.lines_of(folder)) > 200, 120, "the first version has written")
    job.update(tmp_path / "second.py", config={"allow_drop": ["counted"]})
    others = folder.with_name(f"{folder.name}-of-version-2")
    wait_until(lambda: len(counting.lines_of(others)) > 200, 120, "the second version has written")
    before = len(counting.lines_of(folder))
    assert job.go_back(1, state="snapshot").version == 3
    wait_until(lambda: len(counting.lines_of(folder)) > before + 500, 120, "the first version has read again, and goes on")
    job.suspend()
    counting.assert_exact(folder)
