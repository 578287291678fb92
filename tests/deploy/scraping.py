"""A real Prometheus with the files of ``deploy/``, and what these files ask of it."""

import contextlib
import json
import re
import shutil
import subprocess
import threading
import time
from functools import cache
from pathlib import Path

import httpx2
import pytest
import yaml

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
PROMETHEUS, GRAFANA = ROOT / "deploy" / "prometheus", ROOT / "deploy" / "grafana"
RULES, CONFIG, DASHBOARD = PROMETHEUS / "pitstop.rules.yml", PROMETHEUS / "prometheus.yml", GRAFANA / "pitstop-jobs.json"
NAME = re.compile(r"\bpitstop_[a-z_]+")
SECONDS = 60.0


@cache
def _lookup():
    return subprocess.run([ROOT / "scripts" / "prometheus"], capture_output=True, text=True, timeout=300)


def tool(name):
    """Return the path of ``prometheus`` or ``promtool``; skip where it cannot be had, and fail where it could be fetched."""
    lookup = _lookup()
    if lookup.returncode == 3:
        pytest.skip(lookup.stderr.strip())
    assert lookup.returncode == 0, lookup.stderr
    return Path(lookup.stdout.strip(), name)


def alerts():
    """Return the rules of all alerts, by their names."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def panels():
    """Yield the title of each panel of the dashboard with a query of it, for all jobs."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$job", ".*")


def names():
    """Return the names of the metrics that the rules and the dashboard name."""
    chosen = json.loads(DASHBOARD.read_text())["templating"]["list"][1]["query"]["query"]
    texts = (*(rule["expr"] for rule in alerts().values()), *(query for _, query in panels()), chosen)
    return {name for text in texts for name in NAME.findall(text)}


class Prometheus:
    """A running Prometheus: its API."""

    def __init__(self, process, http, log, url):
        self._process, self._http, self._log, self.url = process, http, log, url

    def ask(self, path, **parameters):
        """Return the data of an answer; None while it starts."""
        assert self._process.poll() is None, self._log.read_text()
        answer = self._http.get(path, params=parameters)
        assert answer.status_code in (200, 503), answer.text
        return answer.json()["data"] if answer.status_code == 200 else None

    def values(self, query):
        """Return the series of an instant query: pairs of labels and value."""
        return [(each["metric"], float(each["value"][1])) for each in self.ask("/query", query=query)["result"]]

    def jobs_told(self, alert, state="firing"):
        """Return the names of the jobs for which an alert is in a state."""
        return sorted(labels.get("job", "") for labels in self.alerts(state) if labels["alertname"] == alert)

    def alerts(self, state="firing"):
        """Return the labels of all alerts in a state."""
        return [each["labels"] for each in (self.ask("/alerts") or {}).get("alerts", ()) if each["state"] == state]

    def stored_names(self):
        """Return the names of the server's metrics that it holds."""
        return {name for name in self.ask("/label/__name__/values") or () if name.startswith("pitstop_")}

    def until(self, look, why):
        """Return the first true value of ``look``, which may ask while Prometheus still starts."""
        deadline = time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(httpx2.TransportError):
                if value := look():
                    return value
            assert time.monotonic() < deadline, f"{why}: {self.ask('/targets')}"
            threading.Event().wait(0.1)


@contextlib.contextmanager
def running(folder, url, token, every="1s", strangers=()):
    """Run a Prometheus with our configuration and rules that scrapes the server at ``url`` with ``token``.

    ``strangers`` are names of further scrapes of the same server without a token.
    """
    folder.mkdir()
    config = yaml.safe_load(CONFIG.read_text())
    (scrape,) = config["scrape_configs"]
    (folder / "token").write_text(f"{token}\n")
    scrape["authorization"]["credentials_file"] = str(folder / "token")
    scrape["static_configs"] = [{"targets": [url.removeprefix("http://")]}]
    scrape["scrape_interval"] = every
    bare = {key: value for key, value in scrape.items() if key != "authorization"}
    config["scrape_configs"] += [bare | {"job_name": name} for name in strangers]
    config["global"] = {"evaluation_interval": "500ms", "scrape_timeout": every}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(RULES, folder)
    address = f"127.0.0.1:{free_port()}"
    command = [tool("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    command.append(f"--web.listen-address={address}")
    with (folder / "log").open("w") as log, httpx2.Client(base_url=f"http://{address}/api/v1", trust_env=False) as http:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            yield Prometheus(process, http, folder / "log", f"http://{address}")
        finally:
            process.terminate()
            process.wait(SECONDS)
