"""A real Prometheus, with the rules and the dashboard of ``deploy/``, beside a real server with jobs on Spark."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from pitstop.machine.private import write_private
from pitstop.model.job import JobState
from tests.deploy.scraping import DASHBOARD, names, panels, running

SECONDS = 300
TOKEN = "of-metrics-alone"
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.always, pytest.mark.timeout(900)]

COUNTS = """
import pitstop as ps


@ps.job()
def counts(folder: str) -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, ts timestamp"), name="numbers")
    timed = rows.with_timestamps("ts", allowed_lag="1 second")
    minutes = timed.group_by("vin").window(ps.tumbling("1 minute")).aggregate("minutes", n=ps.count())
    minutes.write_to(ps.sinks.map("counts", key="vin"), name="out")
    return p
"""

PLAIN = """
import pitstop as ps


def checked(state, row):
    {body}
    return {{"sequence": row.sequence}}


@ps.job(partitions=1)
def plain() -> ps.Pipeline:
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(5), name="numbers").with_columns(key="'all'")
    checks = numbers.group_by("key").map_stateful("checked", checked, "n bigint", "sequence bigint")
    checks.write_to(ps.sinks.logger(), name="out")
    return p
"""


@pytest.fixture
def csv(tmp_path):
    """Write a file of the job's source with one row for each age in minutes."""
    folder, now = tmp_path / "in", datetime.now(UTC)
    folder.mkdir()

    def write(name, *ages, more=""):
        times = (now - timedelta(minutes=age) for age in ages)
        (folder / name).write_text("".join(f"a,{time:%Y-%m-%dT%H:%M:%SZ}\n" for time in times) + more)

    return write


def test_a_prometheus_with_our_files_draws_all_panels_and_tells_failures_alone(stack, tmp_path, csv):
    from stack import wait_until

    write_private(tmp_path / "metrics-token", TOKEN)
    client = stack.start_server(options=("--metrics-token-file", str(tmp_path / "metrics-token")))
    (tmp_path / "counts.py").write_text(COUNTS)
    for name, body in (("doomed", "raise ValueError('a row that nobody had thought of')"), ("harmless", "pass")):
        (tmp_path / f"{name}.py").write_text(PLAIN.format(body=body))
    with running(tmp_path / "prometheus", stack.url, TOKEN, strangers=("no-token",)) as prometheus:
        targets = prometheus.until(lambda: _targets(prometheus), "no target was scraped")
        assert targets["pitstop"] == ("up", "")
        assert targets["no-token"] == ("down", "server returned HTTP status 401 Unauthorized")

        csv("1.csv", 9, 5, 8)
        counts = client.submit(tmp_path / "counts.py", name="counts", args=[str(tmp_path / "in")])
        doomed = client.submit(tmp_path / "doomed.py", name="doomed")
        unwanted = client.submit(tmp_path / "harmless.py", name="unwanted")
        counts.wait_started(SECONDS)
        unwanted.wait_started(SECONDS)
        client.service.wait_for(doomed.id, (JobState.FAILED,), SECONDS)
        unwanted.cancel()

        def status():
            return {labels["job"]: labels["status"] for labels, _ in prometheus.values("pitstop_job_status == 1")}

        expected = {"counts": "RUNNING", "doomed": "FAILED", "unwanted": "CANCELLED"}
        prometheus.until(lambda: status() == expected, "the states of the jobs are not there")
        prometheus.until(lambda: prometheus.jobs_told("PitstopJobFailed"), "no failure was told")
        assert [(labels["alertname"], labels["job"]) for labels in prometheus.alerts()] == [("PitstopJobFailed", "doomed")]

        wait_until(lambda: counts.details.progress.input_rows == 3, SECONDS, "the first file is read")
        counts.update(tmp_path / "counts.py")
        csv("2.csv", 9, 2, 1)
        wait_until(lambda: counts.details.progress.input_rows == 6, SECONDS, "the new version reads the second")
        wait_until(lambda: client.map("counts").size() == 1, SECONDS, "a window is in the map")
        counts.export_snapshot("kept")
        prometheus.until(lambda: names() <= prometheus.stored_names(), "not every metric that rules and dashboard name")
        for title, query in panels():
            prometheus.until(lambda query=query: prometheus.values(query), f"panel '{title}' is empty: {query}")
        assert _choices(prometheus) == sorted(expected)

        csv("3.csv", 0, more="a,no time\n")
        prometheus.until(lambda: prometheus.jobs_told("PitstopRowsLeftOut"), "the row that does not parse is not told")
        assert prometheus.jobs_told("PitstopRowsLeftOut") == ["counts"]
        client.submit(tmp_path / "harmless.py", name="doomed")
        prometheus.until(lambda: not prometheus.jobs_told("PitstopJobFailed"), "a new job of that name did not end the alert")
        stack.kill_server()
        prometheus.until(lambda: prometheus.jobs_told("PitstopAway", "pending"), "nobody misses the server")
    stack.start_server()  # it ends what the killed one has left


def _targets(prometheus):
    """Return the health and the error of each scrape, once all have been tried."""
    targets = (prometheus.ask("/targets") or {"activeTargets": ()})["activeTargets"]
    if not targets or any(each["health"] == "unknown" for each in targets):
        return None
    return {each["scrapePool"]: (each["health"], each["lastError"]) for each in targets}


def _choices(prometheus):
    """Return the jobs that the dashboard offers: Grafana asks for the values of a label in this way."""
    function = json.loads(DASHBOARD.read_text())["templating"]["list"][1]["query"]["query"]
    metric, label = function.removeprefix("label_values(").removesuffix(")").split(", ")
    return sorted(prometheus.ask(f"/label/{label}/values", **{"match[]": metric}))
