"""The code of docs/debugging.md and docs/notebooks.md is run: the first as tests of a new project, the second cell by cell."""

import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

import pitstop as ps
from pitstop.cli.init import project

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

DOCS = Path(__file__).parents[3] / "docs"
ROW = "car1,40.0,2026-01-01 12:00:05\n"


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)


def python(folder, *arguments):
    """Run Python in a folder, as a user would; return what it prints."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PITSTOP_", "_PITSTOP"))}
    run = subprocess.run([sys.executable, *arguments], cwd=folder, env=own, capture_output=True, text=True, timeout=850)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-3000:]
    return run.stdout


def test_the_rows_that_go_no_further_are_kept_by_the_sinks_that_debugging_md_shows(job_test):
    names = {"ps": ps}
    exec(blocks("debugging.md")[0], names)

    @ps.job
    def speeds(folder, output):
        p = ps.Pipeline()
        names["with_dead_letters"](p, folder, output)
        return p

    test = job_test(speeds, "cars", "/out")
    test.push("cars", ["a,fast,2026-01-01 12:00:00", {"vin": "a", "speed": 30.0, "time": datetime(2026, 1, 1, 12, 5)}])
    test.push("cars", [{"vin": "a", "speed": 40.0, "time": datetime(2226, 1, 1)}])
    test.epoch()
    test.push("cars", [{"vin": "a", "speed": 50.0, "time": datetime(2026, 1, 1, 12, 0)}])
    test.epoch()
    assert [row["text"] for row in test.rows("cars-dead-letters")] == ["a,fast,2026-01-01 12:00:00"]
    counts = {name: len(list((test.folder / "files" / "out" / name).glob("*.json"))) for name in ("unreadable", "ahead", "late")}
    assert all(counts.values()), counts


def test_the_replay_of_debugging_md_passes_in_a_new_project(tmp_path):
    for name, text in project("speeds").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "test_replay.py").write_text(blocks("debugging.md")[1])
    options = ("-q", "-c", os.devnull, "--rootdir", ".", "-p", "no:xdist")
    assert "1 passed" in python(tmp_path, "-m", "pytest", *options, "test_replay.py")


def test_the_cells_of_notebooks_md_work_one_after_the_other(tmp_path):
    (tmp_path / "cars").mkdir()
    (tmp_path / "cars" / "1.csv").write_text(ROW + ROW.replace("12:00", "12:09"))
    define, try_out, run, _ = blocks("notebooks.md")  # the last cell asks a server
    shown = "assert test.entries('speeds')['car1']['n'] == 1\ntest.close()\n"
    (tmp_path / "cells.py").write_text("\n".join([define, try_out, shown, run.replace("/data/cars", str(tmp_path / "cars"))]))
    assert "2 {" in python(tmp_path, "cells.py")
