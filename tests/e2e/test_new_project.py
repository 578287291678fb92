"""A project of ``pitstop init``: its tests pass, and the commands of its README run against a real server."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.always, pytest.mark.timeout(1200)]

SERVE = "pitstop serve &"


class Shell:
    """A shell in a folder, with ``pitstop`` and this Python on its path."""

    def __init__(self, folder, data):
        self.folder, self.server = folder, None
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PITSTOP_", "_PITSTOP"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = own | {"PATH": path, "PITSTOP_DATA": str(data), "PYTHONUNBUFFERED": "1"}

    def serve(self, log):
        command = ["pitstop", "serve", "--port", "0", "--stop-jobs-on-exit"]
        options = {"cwd": self.folder, "env": self.environment, "text": True}
        with log.open("w") as errors:
            self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, **options)
        self.environment["PITSTOP_URL"] = self.server.stdout.readline().split(" serves at ")[1].split()[0]

    def run(self, line):
        done = subprocess.run(line.split(), cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def end(self):
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.communicate(timeout=60)


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path, tmp_path / "server")
    yield made
    made.end()


def commands(readme, title):
    return re.search(rf"^## {title}\n.*?^```\n(.*?)^```", readme, re.M | re.S)[1].splitlines()


def expected(file):
    """(vin, count, average, top) of each minute that is over, by plain Python; the last minute is still open."""
    minutes = defaultdict(list)
    for vin, speed, time in (line.split(",") for line in file.read_text().splitlines()):
        minutes[time[:16], vin].append(float(speed))
    last = max(minute for minute, _ in minutes)
    rows = [(vin, len(s), round(sum(s) / len(s), 6), max(s)) for (minute, vin), s in minutes.items() if minute < last]
    return sorted(rows)


def written(folder):
    return [json.loads(line) for file in folder.glob("*.json") for line in file.read_text().splitlines()]


def test_a_new_project_is_tested_run_changed_and_applied(shell, tmp_path):
    shell.run("pitstop init speeds")
    shell.folder = project = tmp_path / "speeds"
    readme = (project / "README.md").read_text()
    assert commands(readme, "Test it") == ["pip install -r requirements.txt", "python -m pytest"]
    assert "2 passed" in shell.run("python -m pytest -q -p no:cacheprovider")

    first, *lines = commands(readme, "Run it")
    assert first == SERVE
    shell.serve(tmp_path / "server.log")
    shown = {line: shell.run(line) for line in lines}
    assert "Done." in shown["pitstop apply -f jobs.yaml"]
    assert shown["pitstop job list"].splitlines()[1].split()[1] == "RUNNING"
    assert "unchanged" in shell.run("pitstop apply -f jobs.yaml")

    shown = {line: shell.run(line) for line in commands(readme, "Change it")}
    tutorial = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()
    (report,) = re.findall(r"^```text\n(.*?)^```", tutorial, re.M | re.S)
    assert shown["pitstop check -j speeds speeds_v2.py"] == report
    assert len(shown["pitstop job versions speeds"].splitlines()) == 3
    # A later minute closes those before it.
    (project / "data" / "2.csv").write_text("car0,1,2026-01-01 00:30:00\n")
    wanted = expected(project / "data" / "1.csv")
    closing = {(vin, n, average) for vin, n, average, _ in wanted}
    for _ in range(240):
        rows = written(project / "output")
        if len(rows) >= len(closing) + 3:
            break
        shell.run("pitstop wait --for running --timeout 60 speeds")
    assert {(row["vin"], row["n"], round(row["avg"], 6)) for row in rows} >= closing
    assert len(rows) == len({(row["vin"], row["window_start"]) for row in rows}), "no minute is written twice"

    # The file still has version 1: to go back drops nothing but the top, which is no state of its own.
    plan = json.loads(shell.run("pitstop apply -f jobs.yaml --dry-run -o json"))
    assert plan[0]["steps"] == ["update"]
