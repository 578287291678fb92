"""A cluster loses an executor in the middle of an epoch, with rows that one sink has written and another has not."""

import pytest

from pitstop.launchers.processes import handle_in, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from tests.e2e.counting import lines_of

SECONDS = 300
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

TWO_SINKS = '''
import json, time
from pathlib import Path

import pitstop as ps


class Gate:
    """Writes what it gets, once; before that it says that it is there and waits to be let through."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, rows, info):
        folder = Path(self.folder)
        found = sorted(row.n for row in rows.collect())
        (folder / "here").write_text("")
        deadline = time.monotonic() + 120
        while not (folder / "open").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        (folder / f"{info.epoch}.json").write_text(json.dumps(found))


@ps.job()
def two(folder: str) -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder + "/in", schema="n bigint"), name="numbers")
    rows.write_to(ps.sinks.custom(Gate(folder)), name="gate")
    rows.write_to(ps.sinks.files(folder + "/out", format="json"), name="files")
    return p
'''


def test_the_epoch_is_tried_again_and_the_job_goes_on(stack, tmp_path):
    from stack import wait_until

    (tmp_path / "two.py").write_text(TWO_SINKS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("".join(f"{n}\n" for n in range(100)))
    client, data = stack.start_server(members=1), DataFolder(stack.data)
    job = client.submit(tmp_path / "two.py", args=[str(tmp_path)], config={"processing_guarantee": "exactly_once"})
    wait_until((tmp_path / "here").exists, SECONDS, "one sink has the rows of the epoch")
    run = job.details.token
    folder = data.member("member-1")
    for handle in (handle_in(folder.process), handle_in(folder.daemon)):
        kill_all(handle)
    (tmp_path / "open").touch()
    wait_until(lambda: len(lines_of(tmp_path / "out")) >= 100, SECONDS, "the rows are written after all")
    wait_until(lambda: job.status is JobState.RUNNING, SECONDS, "the job runs again")
    assert sorted(line["n"] for line in lines_of(tmp_path / "out")) == list(range(100))
    assert job.details.token > run, "what was lost cost the run its epoch"
