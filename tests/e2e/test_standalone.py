"""Spark's own master as we start it: its web page, which ends jobs for whoever asks, is for nobody."""

import os
import re

import httpx2
import pytest

from pitstop.kit.java import find_java
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.processes import handle_in, kill_all
from pitstop.launchers.spark_standalone import start_master
from pitstop.model.data_folder import DataFolder

pytestmark = pytest.mark.e2e


def test_the_web_page_of_the_master_lets_nobody_in_and_listens_on_loopback(tmp_path):
    data = DataFolder(tmp_path)
    environment = runner_environment(os.environ) | {"JAVA_HOME": str(find_java(data.java))}
    process, url = start_master(data.spark_master, "127.0.0.1", "a secret of the test", data.spark_recovery, environment)
    try:
        assert url.startswith("spark://127.0.0.1:")
        told = data.spark_master.log.read_text()
        page = re.search(r"Bound MasterWebUI to ([\d.]+), and started at http://[^:]*:(\d+)", told)
        assert page[1] == "127.0.0.1"
        for path in ("/", "/json/", "/app/kill/"):
            assert httpx2.get(f"http://127.0.0.1:{page[2]}{path}").status_code == 403
    finally:
        kill_all(handle_in(data.spark_master.daemon))
        process.wait()
