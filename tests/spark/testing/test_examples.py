"""The small examples: each job is short, stands in the index, and passes its own test as a user would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INDEX = (ROOT / "docs" / "examples.md").read_text()
SMALL = sorted(folder for folder in (ROOT / "examples").iterdir() if any(folder.glob("test_*.py")) and folder.name != "speeds")
"""The small examples. That of docs/testing.md has its own test."""


def jobs(folder):
    return [file for file in folder.glob("*.py") if not file.name.startswith("test_")]


def test_the_index_names_each_example_and_each_of_its_files():
    linked = set(re.findall(r"\]\(\.\./examples/([^)]+)\)", INDEX))
    expected = {f"{folder.name}/{file.name}" for folder in SMALL for file in folder.glob("*.py")}
    assert len(SMALL) == 8
    small = {folder.name for folder in SMALL}
    assert {link for link in linked if link.endswith(".py") and link.split("/")[0] in small} == expected
    assert [link for link in linked if not (ROOT / "examples" / link).exists()] == []


@pytest.mark.parametrize("folder", SMALL, ids=lambda folder: folder.name)
def test_a_job_has_less_than_sixty_lines(folder):
    assert {
        file.name: len(file.read_text().splitlines()) for file in jobs(folder) if len(file.read_text().splitlines()) >= 60
    } == {}


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("folder", SMALL, ids=lambda folder: folder.name)
def test_the_tests_of_an_example_pass_for_a_user(tmp_path, folder):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PITSTOP_", "_PITSTOP"))}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [*command, "--rootdir", str(folder), "--basetemp", str(tmp_path / "own"), "."],
        cwd=folder, env=own, capture_output=True, text=True, timeout=850,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-3000:]
    assert re.search(r"[1-9] passed", run.stdout)
