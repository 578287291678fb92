"""Real processes over HTTP: the demo's own stack, on free ports and in a folder of the test."""

import sys
from pathlib import Path

import pytest

from tests.e2e.reading import Reader

FLEET = Path(__file__).parents[2] / "examples" / "fleet"
sys.path.insert(0, str(FLEET))


@pytest.fixture
def stack(tmp_path):
    from stack import Stack

    with Stack(tmp_path / "stack", speedup=60.0, spares=1, beta_options=("--fail-every", "7", "--garbage-every", "11")) as made:
        yield made


@pytest.fixture
def reader(tmp_path):
    """A shell in a folder of the test, with ``pitstop`` on its path; the server that it starts is ended."""
    reader = Reader(tmp_path)
    yield reader
    reader.end()
