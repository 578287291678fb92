"""Spark's own master as we start it: its web page, which ends jobs for whoever asks, is for nobody."""

import json
import os
import re

import httpx2
import pytest

from pitstop.kit.waiting import wait_until
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.processes import handle_in, kill_all
from pitstop.launchers.spark_standalone import FollowedMaster, log_parts, start_master, start_worker
from pitstop.machine.java import find_java
from pitstop.machine.rotating import Rotation
from pitstop.model.cluster import SparkCluster
from pitstop.model.data_folder import DataFolder

pytestmark = pytest.mark.e2e


SECRET = "a secret of the test"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return runner_environment(os.environ) | {"JAVA_HOME": str(find_java(tmp_path_factory.mktemp("java")))}


@pytest.fixture(scope="module")
def master(tmp_path_factory, environment):
    """(its folder, its URL)"""
    data = DataFolder(tmp_path_factory.mktemp("data"))
    process, url = start_master(data.spark_master, "127.0.0.1", SECRET, data.spark_recovery, environment)
    yield data.spark_master, url
    kill_all(handle_in(data.spark_master.daemon))
    process.wait()


@pytest.mark.long
def test_the_web_page_of_the_master_lets_nobody_in_and_listens_on_loopback(master):
    folder, url = master
    assert url.startswith("spark://127.0.0.1:")
    page = re.search(r"Bound MasterWebUI to ([\d.]+), and started at http://[^:]*:(\d+)", folder.log.read_text())
    assert page[1] == "127.0.0.1"
    for path in ("/", "/json/", "/app/kill/"):
        assert httpx2.get(f"http://127.0.0.1:{page[2]}{path}").status_code == 403


@pytest.mark.long
def test_the_log_of_the_master_is_rotated_and_is_json_in_the_form_of_all_logs(environment, tmp_path):
    data, rotation = DataFolder(tmp_path / "a folder"), Rotation(most_bytes=1000, kept=40)
    process, url = start_master(data.spark_master, "127.0.0.1", SECRET, data.spark_recovery, environment, rotation)
    try:
        assert url.startswith("spark://127.0.0.1:"), "it is found in whichever part"
        parts = log_parts(data.spark_master)
        assert 0 < len(parts) <= rotation.kept
        lines = [line for part in parts for line in part.read_text().splitlines() if line.startswith("{")]
        assert {"time", "level", "logger", "msg", "thread"} <= json.loads(lines[0]).keys()
        longest = max(map(len, lines))
        assert all(part.stat().st_size <= rotation.most_bytes + longest for part in parts if part != parts[-1])
    finally:
        kill_all(handle_in(data.spark_master.daemon))
        process.wait()


@pytest.mark.long
def test_a_worker_that_does_not_know_the_secret_joins_nothing(master, environment, tmp_path):
    _, url = master
    folders = {secret: DataFolder(tmp_path).member(name) for name, secret in (("friend", SECRET), ("stranger", "a guess"))}
    started = [start_worker(folder, "127.0.0.1", SparkCluster(url, secret), 1, environment) for secret, folder in folders.items()]
    try:
        assert wait_until(lambda: FollowedMaster(folders[SECRET]).look() == url, 60)
        refused = folders["a guess"].log
        assert wait_until(lambda: "Failed to connect to master" in refused.read_text(), 60)
        assert "SaslException" in refused.read_text()
        assert FollowedMaster(folders["a guess"]).look() is None
        told = folders[SECRET].spark_settings.read_text()
        assert "spark.executor.logs.rolling.strategy size" in told
        assert f"spark.executor.logs.rolling.maxSize {64 << 20}" in told
    finally:
        for folder in folders.values():
            kill_all(handle_in(folder.daemon))
        for process in started:
            process.wait()
