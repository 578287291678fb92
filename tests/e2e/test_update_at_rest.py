"""An update of a job whose source is silent: the old version goes on if the first rows break the new one."""

import json

import pytest

from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps

@ps.job(partitions=1, processing_guarantee="exactly_once")
def summed(folder, out):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(folder, "json", schema="n bigint", streaming=True), name="rows")
    sums = rows.with_columns(one="1").group_by("one").rolling_aggregate("sums", total=ps.sum("n"))
    sums.write_to(ps.sinks.files(out, "json"), name="out")
    return p
"""


@pytest.mark.always
def test_the_old_version_goes_on_if_the_first_rows_after_an_update_break_the_new_one(tmp_path):
    from stack import Stack, wait_until

    code, inbox, out = tmp_path / "summed.py", tmp_path / "in", tmp_path / "out"
    code.write_text(JOB)
    inbox.mkdir()

    def feed(number):
        part = tmp_path / f"{number}.json"
        part.write_text(json.dumps({"n": number}) + "\n")
        part.rename(inbox / part.name)

    def totals():
        files = [path for path in out.rglob("*.json") if "_pitstop" not in path.parts]
        return sorted(json.loads(line)["total"] for path in files for line in path.read_text().splitlines())

    with Stack(tmp_path / "stack", spares=0) as stack:
        client = stack.start_server()
        job = client.submit(code, args=(str(inbox), str(out)))
        feed(1)
        wait_until(lambda: totals() == [1], 300, "the first rows")
        job.wait_started()
        broken = tmp_path / "broken.py"
        broken.write_text(JOB.replace('one="1"', 'one="if(assert_true(n < 2) IS NULL, 1, 2)"'))
        assert job.update(broken).version == 2
        assert (job.status, job.details.version, job.details.updating) == (JobState.RUNNING, 2, False)
        feed(2)
        wait_until(lambda: job.status is JobState.RUNNING and job.details.version == 1, 200, "the old version")
        wait_until(lambda: totals() == [1, 3], 200, "its rows, which it reads itself")
        assert "so version 1 goes on where it had stopped" in job.details.update_failure
        assert job.update(code).version == 2
        feed(4)
        wait_until(lambda: totals() == [1, 3, 7], 200, "the rows of the version that is right")
        feed(8)
        wait_until(lambda: totals() == [1, 3, 7, 15], 200, "more rows")
        assert job.details.update_failure is None
