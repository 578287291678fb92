"""The Java of a session gives the machine back what it needed for a while."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(400)]

BURST = """
import sys
from pathlib import Path

import psutil
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import COLLECTION_INTERVAL, build_session

spark = build_session(ClusterSettings("local[2]"), Path(sys.argv[1]), {COLLECTION_INTERVAL: "5s"})
java = psutil.Process(int(spark._jvm.java.lang.ProcessHandle.current().pid()))
rows = spark.range(4_000_000).selectExpr("id", "sha2(string(id), 256) AS text").cache()
rows.count()
most = java.memory_info().rss
rows.unpersist(True)
assert wait_until(lambda: java.memory_info().rss < 0.7 * most, 120, step=0.5), (most, java.memory_info().rss)
"""


def test_memory_that_a_burst_has_taken_is_given_back(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    environment["PITSTOP_DRIVER_MEMORY"] = "3g"
    finished = subprocess.run(
        [sys.executable, "-c", BURST, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
