"""docs/testing.md shows the tests of examples/speeds, and pytest runs these as a user would: with the plugin alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "speeds"
TEXT = (ROOT / "docs" / "testing.md").read_text()


def test_each_test_of_the_docs_stands_in_the_example():
    example = (EXAMPLE / "test_speeds.py").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
    assert len(blocks) == 5
    assert [block for block in blocks if block.removeprefix("# test_speeds.py\n").strip() not in example] == []


def test_the_first_test_takes_ten_lines():
    first = re.search(r"^def test_.*?(?=^```)", TEXT, re.M | re.S)[0]
    assert len(first.strip().splitlines()) <= 10


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_example_passes_for_a_user(tmp_path):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PITSTOP_", "_PITSTOP"))}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [*command, "--rootdir", str(EXAMPLE), "--basetemp", str(tmp_path / "own"), "test_speeds.py"],
        cwd=EXAMPLE, env=own, capture_output=True, text=True, timeout=850,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-3000:]
    assert "5 passed" in run.stdout
