"""The story of ``make story-kafka`` with fewer orders: each of its steps has its check, which ends it with exit code 1."""

import subprocess
import sys
from pathlib import Path

import pytest

STORY = Path(__file__).parents[2] / "examples" / "orders" / "orders_story.py"


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_a_job_on_kafka_is_killed_and_changed_and_postgres_delta_and_kafka_have_each_row_once():
    story = subprocess.run([sys.executable, str(STORY), "--orders", "20000"], capture_output=True, text=True, check=False)
    assert story.returncode == 0, f"{story.stdout}\n{story.stderr}"
