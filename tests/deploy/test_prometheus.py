"""The files for Prometheus and Grafana, held against a real Prometheus: docs/metrics.md says how they are used."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from pitstop.model.job import JobState, Progress
from pitstop.model.operation import Cancel, Export
from pitstop.model.tally import RestartCause, Tally
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.service.api import SubmitRequest
from tests.deploy.scraping import CONFIG, DASHBOARD, RULES, alerts, names, panels, running, tool
from tests.doubles.http import listening
from tests.doubles.service import ScriptedService

TRIED = Path(__file__).with_name("pitstop.rules.test.yml")
TOKEN = "of-metrics-alone"


@pytest.fixture
def promtool():
    def call(*arguments, folder=None):
        done = subprocess.run([tool("promtool"), *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def test_the_rules_and_the_configuration_are_sound(promtool):
    promtool("check", "rules", "--lint-fatal", str(RULES))
    promtool("check", "config", "--syntax-only", str(CONFIG))


def test_each_alert_comes_when_it_should_and_not_otherwise(promtool, tmp_path):
    for file in (RULES, TRIED):
        shutil.copy(file, tmp_path)
    assert "SUCCESS" in promtool("test", "rules", TRIED.name, folder=tmp_path)


def test_each_alert_is_tried_with_series_that_set_it_off_and_such_that_do_not():
    tried = [test for group in yaml.safe_load(TRIED.read_text())["tests"] for test in group["alert_rule_test"]]
    assert {test["alertname"] for test in tried if test["exp_alerts"]} == set(alerts())
    # Beside an alert that comes, its tests have jobs that must not be in it.
    silent = {test["alertname"] for test in tried if not test["exp_alerts"]}
    assert set(alerts()) - silent == {"PitstopJobFailed"}


def test_what_the_dashboard_asks_can_be_asked(promtool, tmp_path):
    rules = [{"record": f"panel_{number}", "expr": expr} for number, (_, expr) in enumerate(panels())]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(tmp_path / "panels.yml"))


def test_the_panels_do_not_lie_over_one_another():
    drawn = json.loads(DASHBOARD.read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in drawn)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in drawn}) == len(drawn)


@pytest.fixture
def server(tmp_path):
    """A server with a job that runs, one that has failed and one that a user has cancelled; its address."""
    data = tmp_path / "data"
    data.mkdir()
    service = ScriptedService(data)

    def submitted(name, text, *states):
        job = service.submit(SubmitRequest("job.py", text.encode(), name=name)).id
        return service.wait_for(job, states, 20).id

    runs = submitted("fleet", "# source: tail", JobState.RUNNING)
    submitted("broken", "# fails: No such column", JobState.FAILED)
    service.do(submitted("unwanted", "", JobState.RUNNING), Cancel())
    service.map_put("cars", {"a": "1"})
    service.do(runs, Export("s"))
    service.put(runs, tally=Tally({RestartCause.LOST: 2}, 1, 0, 3.5))
    stages = {
        "tail": {"rows_out": 9, "behind": 40, "behind_in": "bytes"},
        "window": {"rows_in": 9, "rows_out": 3, "late_rows": 1, "state_rows": 4, "state_bytes": 4096},
    }
    now = time.time()
    at = round((now - 30) * 1000)
    service.advance(runs, Progress(5, at, input_rows=9, epoch_ms=250, stages=stages, epoch_at=now - 5))
    with listening(create_app(service, Access("the-operators-token", metrics_token=TOKEN))) as url:
        yield url
    service.close()


@pytest.fixture
def prometheus(tmp_path, server):
    """A Prometheus with our configuration and rules that scrapes that server."""
    with running(tmp_path / "prometheus", server, TOKEN, every="3s") as process:
        yield process


@pytest.mark.long
def test_a_real_prometheus_gets_every_metric_that_rules_and_dashboard_name(prometheus):
    # A scrape is stored bit by bit, and rules have their first results after it.
    prometheus.until(lambda: names() <= prometheus.stored_names(), "not every metric is scraped")
    for _, query in panels():
        prometheus.values(query)


@pytest.mark.long
def test_a_real_prometheus_tells_the_job_that_failed_by_its_name_and_no_cancelled_one(prometheus):
    assert prometheus.until(lambda: prometheus.jobs_told("PitstopJobFailed"), "no failure was told") == ["broken"]
    assert {labels["job"]: labels["status"] for labels, _ in prometheus.values("pitstop_job_status == 1")} == {
        "fleet": "RUNNING",
        "broken": "FAILED",
        "unwanted": "CANCELLED",
    }
