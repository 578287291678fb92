"""A support bundle of a real server with jobs that know secrets and data: nothing of these is in it."""

import io
import json
import re
import tarfile

import pytest

from pitstop.client import connect
from pitstop.machine.private import write_private
from pitstop.model.job import JobState

SECONDS = 300
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]
PLANTED = "planted"
"""A part of every secret of this test."""
DATA = re.compile(r"private-\d")
"""A part of every row of this test, of each value that jobs write, print and log."""
LOUD = """
import logging

import pitstop as ps


def loud(state, row):
    print("a row is printed", row.text)
    logging.getLogger("fleet").warning("a row is logged %s", row.text)
    if row.sequence == 30:
        raise ValueError("no number")
    return (row.text,)


@ps.job(partitions=1, snapshot_interval="500 ms")
def loud_job(url, *options):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(10), name="numbers").with_columns(key="'all'", text="concat('private-', sequence)")
    rows.select("text").write_to(ps.sinks.logger(), name="log")
    rows.select("text").write_to(ps.sinks.map("texts", key="text"), name="texts")
    shouts = rows.group_by("key").map_stateful("loud", loud, "n bigint", "text string")
    shouts.write_to(ps.sinks.logger(), name="shouts")
    return p
"""
MAPPING = """
CREATE MAPPING cars (sequence BIGINT) TYPE HttpPoll
OPTIONS ('url' = 'http://me:planted-of-the-mapping@127.0.0.1:1/cars?api_key=planted-behind-the-mapping')
"""
ARGUMENTS = (
    "https://me:planted-of-the-url@example.com/cars?access_token=planted-behind-it",
    "--password",
    "planted-of-an-argument",
    "api_key=planted-of-a-pair",
)
OPTIONS = {"spark": {"spark.hadoop.fs.s3a.secret.key": "planted-of-an-option"}}


def test_a_bundle_tells_of_jobs_and_failures_and_holds_no_secret_and_no_data(stack, tmp_path, monkeypatch):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "KAFKA").write_text("planted-in-a-file\n")
    monkeypatch.setenv("PITSTOP_SECRET_FEED", "planted-in-a-variable")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-of-aws")
    options = ["--secrets", str(secrets), "--pass-env", "AWS_*"]
    for role in ("token", "viewer-token", "metrics-token"):
        write_private(tmp_path / role, f"planted-of-{role}")
        options += [f"--{role}-file", str(tmp_path / role)]
    stack.start_server(options=tuple(options))
    client = connect(stack.url, "planted-of-token")
    assert len(list(client.service.sql(MAPPING))) == 1
    (tmp_path / "loud.py").write_text(LOUD)
    job = client.submit(tmp_path / "loud.py", name="loud", args=list(ARGUMENTS), config=OPTIONS | {"restart": "none"})
    failed = client.service.wait_for(job.id, (JobState.FAILED,), SECONDS)
    assert "fails for the row" in failed.failure
    assert client.map("texts").size() > 0
    # A message that tells all of them.
    with (stack.data / "server.log").open("a") as server_log:
        message = f"cannot log in with {' and '.join(every_secret())}"
        server_log.write(json.dumps({"level": "WARN", "logger": "pitstop.server", "msg": message}) + "\n")
    log = (stack.data / "jobs" / job.id / "runner.log").read_text()
    assert all(f"a row is {verb} private-1" in log for verb in ("printed", "logged"))
    assert DATA.search(failed.failure)

    content = client.service.support_bundle()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        texts = {entry.name.partition("/")[2]: archive.extractfile(entry).read().decode() for entry in archive}
    assert [(name, around(text, PLANTED)) for name, text in texts.items() if PLANTED in text] == []
    assert [(name, around(text, found[0])) for name, text in texts.items() if (found := DATA.search(text))] == []
    (loud,) = json.loads(texts["jobs.json"])
    assert loud["status"] == "FAILED"
    assert loud["failure"].startswith("An epoch failed: stage 'loud' fails for the row ***. Mend its function")
    assert loud["plan"]
    assert "cannot log in with *** and ***" in texts["logs/server.jsonl"]
    assert "starts with empty state" in texts[f"jobs/{job.id}/log.jsonl"]
    assert json.loads(texts["settings.json"])["pass_env"] == ["AWS_*"]
    assert "pitstop_job_status{" in texts["metrics.txt"]
    assert [name for name in texts if name.startswith("logs/engines/")]


def every_secret():
    """Return all that is planted, as a careless message would tell it."""
    url, _, argument, pair = ARGUMENTS
    yield from ("planted-in-a-file", "planted-in-a-variable", "planted-of-aws", "planted-of-the-mapping")
    yield "planted-behind-the-mapping"
    yield from ("planted-of-token", "planted-of-viewer-token", "planted-of-metrics-token", "planted-of-an-option")
    yield from (url, "planted-of-the-url", "planted-behind-it", argument, pair.partition("=")[2])


def around(text, word):
    place = text.index(word)
    return text[max(0, place - 100) : place + 100]
