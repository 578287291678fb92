"""Pitstop beside the oldest packages that it says it works with: a new project's tests pass, and its commands start."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1500)]

ROOT = Path(__file__).parents[2]


def oldest():
    """Return each direct dependency at the oldest version that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in (*project["dependencies"], *project["optional-dependencies"]["postgres"]):
        requirement = Requirement(line)
        (version,) = (part.version for part in requirement.specifier if part.operator in (">=", "=="))
        yield f"{requirement.name}=={version}"


def run(folder, *command, **variables):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PITSTOP_", "_PITSTOP", "PYTEST_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=own | variables, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_a_new_project_passes_its_tests_with_the_oldest_packages(tmp_path):
    run(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    (tmp_path / "oldest.txt").write_text("\n".join(oldest()))
    run(tmp_path, sys.executable, "-m", "venv", "own")
    python = tmp_path / "own" / "bin" / "python"
    run(tmp_path, python, "-m", "pip", "install", "-q", "-c", "oldest.txt", f"{wheel}[postgres]", "pytest")
    pitstop = tmp_path / "own" / "bin" / "pitstop"
    run(tmp_path, pitstop, "init", "cars")
    assert "2 passed" in run(tmp_path / "cars", python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "packages          ok" in run(tmp_path, pitstop, "doctor", "env", "--data", tmp_path / "data")
