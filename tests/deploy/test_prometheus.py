"""The files for Prometheus and Grafana, held against a real Prometheus: docs/metrics.md says how they are used."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import pytest
import yaml

from pitstop.model.job import JobState, Progress
from pitstop.model.operation import Cancel, Export
from pitstop.model.tally import RestartCause, Tally
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.service.api import SubmitRequest
from tests.doubles.http import listening
from tests.doubles.service import ScriptedService

ROOT = Path(__file__).parents[2]
PROMETHEUS, GRAFANA = ROOT / "deploy" / "prometheus", ROOT / "deploy" / "grafana"
RULES, CONFIG, DASHBOARD = PROMETHEUS / "pitstop.rules.yml", PROMETHEUS / "prometheus.yml", GRAFANA / "pitstop-jobs.json"
TRIED = Path(__file__).with_name("pitstop.rules.test.yml")
NAME = re.compile(r"\bpitstop_[a-z_]+")
TOKEN = "of-metrics-alone"
SECONDS = 60.0


@pytest.fixture(scope="session")
def tools():
    """The folder of prometheus and promtool. It is a failure if they cannot be had where they may be fetched."""
    found = subprocess.run([ROOT / "scripts" / "prometheus"], capture_output=True, text=True, timeout=300)
    if found.returncode == 3:
        pytest.skip(found.stderr.strip())
    assert found.returncode == 0, found.stderr
    return Path(found.stdout.strip())


@pytest.fixture
def promtool(tools):
    def call(*arguments, folder=None):
        done = subprocess.run([tools / "promtool", *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def alerts():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def expressions():
    """What the panels of the dashboard ask, with all jobs chosen."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"].replace("$job", ".*") for panel in panels for target in panel["targets"]]


def names():
    """The metrics that the rules and the dashboard name."""
    chosen = json.loads(DASHBOARD.read_text())["templating"]["list"][1]["query"]["query"]
    texts = (*(rule["expr"] for rule in alerts().values()), *expressions(), chosen)
    return {name for text in texts for name in NAME.findall(text)}


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
    rules = [{"record": f"panel_{number}", "expr": expr} for number, expr in enumerate(expressions())]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(tmp_path / "panels.yml"))


def test_the_panels_do_not_lie_over_one_another():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


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
def prometheus(tools, tmp_path, server):
    """A Prometheus with our configuration and rules that scrapes that server; asks it, and gives the answer's data."""
    folder = tmp_path / "prometheus"
    folder.mkdir()
    config = yaml.safe_load(CONFIG.read_text())
    (scrape,) = config["scrape_configs"]
    (folder / "token").write_text(f"{TOKEN}\n")
    scrape["authorization"]["credentials_file"] = str(folder / "token")
    scrape["static_configs"] = [{"targets": [server.removeprefix("http://")]}]
    scrape["scrape_interval"] = "3s"
    config["global"] = {"evaluation_interval": "500ms", "scrape_timeout": "3s"}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(RULES, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [tools / "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    command.append(f"--web.listen-address={address}")
    with (folder / "log").open("w") as log, httpx2.Client(base_url=f"http://{address}/api/v1", trust_env=False) as http:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)

        def ask(path, **parameters):
            assert process.poll() is None, (folder / "log").read_text()
            answer = http.get(path, params=parameters)
            assert answer.status_code in (200, 503), answer.text
            return answer.json()["data"] if answer.status_code == 200 else None

        try:
            yield ask
        finally:
            process.terminate()
            process.wait(SECONDS)


def stored(prometheus):
    """The names of the server's metrics that Prometheus holds."""
    return [name for name in prometheus("/label/__name__/values") or () if name.startswith("pitstop_")]


def until(look, why):
    """What ``look`` gives as soon as it is something."""
    deadline = time.monotonic() + SECONDS
    while True:
        with contextlib.suppress(httpx2.TransportError):
            if found := look():
                return found
        assert time.monotonic() < deadline, why()
        threading.Event().wait(0.1)


@pytest.mark.long
def test_a_real_prometheus_gets_every_metric_that_rules_and_dashboard_name(prometheus):
    known = set(until(lambda: stored(prometheus), lambda: f"nothing is scraped: {prometheus('/targets')}"))
    assert names() - known == set()
    for expression in expressions():
        prometheus("/query", query=expression)


@pytest.mark.long
def test_a_real_prometheus_tells_the_job_that_failed_by_its_name_and_no_cancelled_one(prometheus):
    def failed():
        groups = (prometheus("/rules") or {}).get("groups", [])
        found = [rule for group in groups for rule in group["rules"] if rule["name"] == "PitstopJobFailed"]
        return [alert["labels"]["job"] for rule in found for alert in rule["alerts"]]

    assert until(failed, lambda: f"no failure was told: {prometheus('/targets')}") == ["broken"]
    statuses = prometheus("/query", query="pitstop_job_status == 1")["result"]
    assert {each["metric"]["job"]: each["metric"]["status"] for each in statuses} == {
        "fleet": "RUNNING",
        "broken": "FAILED",
        "unwanted": "CANCELLED",
    }
