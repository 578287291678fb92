"""A job of a real server on a topic: its lag, also after it has stopped, and an update that puts it to another place."""

import json

import pytest

from pitstop.errors import DropError, UsageError
from pitstop.model.job import JobState
from tests.brokers.broker import Broker

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps


@ps.job(partitions=2)
def reading(servers, folder):
    p = ps.Pipeline()
    source = ps.sources.kafka(servers, "numbers", schema="n bigint", with_metadata=("key",), max_rows=40)
    numbers = p.read_from(source, name="numbers")
    numbers.write_to(ps.sinks.files(folder, format="json"), name="rows")
    counted = numbers.group_by("key").rolling_aggregate("counted", seen=ps.count())
    counted.write_to(ps.sinks.map("counts", key="key"), name="counts")
    return p
"""


def numbers_in(folder):
    return sorted(json.loads(line)["n"] for file in folder.glob("*.json") for line in file.open())


def test_the_lag_stays_when_a_job_is_suspended_and_an_update_reads_again_from_another_place(tmp_path):
    from stack import Stack, wait_until

    code, rows = tmp_path / "reading.py", tmp_path / "rows"
    code.write_text(JOB)
    broker = Broker(tmp_path / "kafka", cluster="only")
    try:
        broker.make("numbers", 2)
        broker.send_numbers("numbers", range(100))
        with Stack(tmp_path / "stack", spares=1) as stack:
            client = stack.start_server()
            with pytest.raises(UsageError, match="a job without a snapshot has none"):
                client.submit(code, args=(broker.servers, str(rows)), config={"seek": {"numbers": "latest"}})
            job = client.submit(code, args=(broker.servers, str(rows)))
            wait_until(lambda: len(numbers_in(rows)) == 100, 200, "all messages")
            lag = wait_until(lambda: _lag_at(job, 0), 60, "the lag of a job that has read everything")
            assert lag["behind_by_part"] == {"numbers:0": 0, "numbers:1": 0}
            job.suspend()
            wait_until(lambda: job.status is JobState.SUSPENDED, 60, "the suspended job")
            assert _lag_at(job, 0)["behind_in"] == "messages"
            places = {"numbers": {"numbers": {0: 50, 1: 20}}}
            with pytest.raises(DropError, match=r"source 'numbers'.*--allow-drop=numbers"):
                job.update(code, config={"seek": places})
            result = job.update(code, config={"seek": places, "allow_drop": ["numbers"]})
            (line,) = (line for line in result.report.lines if line.stage == "numbers")
            assert line.detail.startswith("source, is put to ")
            assert "0 messages are skipped, 30 are read again (numbers:1 at 20 instead of 50)" in line.detail
            job.resume()
            again = [n for n in range(100) if n % 2 == 1 and n // 2 >= 20]
            wait_until(lambda: len(numbers_in(rows)) >= 130, 200, "the messages that are read again")
            assert numbers_in(rows) == sorted([*range(100), *again])
            wait_until(lambda: _counts(client) == 130, 60, "the state that goes on")
            assert any("numbers:1 at 20 instead of 50" in each for each in job.logs())
            # The next version goes on from its own place.
            job.update(code)
            broker.send_numbers("numbers", range(100, 110))
            wait_until(lambda: len(numbers_in(rows)) >= 140, 200, "the messages of the last version")
            assert numbers_in(rows) == sorted([*range(110), *again])
    finally:
        broker.kill()


def _lag_at(job, amount):
    facts = job.metrics().stages.get("numbers", {})
    return facts if facts.get("behind") == amount else None


def _counts(client):
    return sum(entry["seen"] for entry in client.map("counts").entries().values())
