"""A spare whose server is gone ends by itself, also while it is still warming up: nobody waits for it any more."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.store.database import sqlite_url

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_a_spare_whose_server_is_gone_ends_before_it_is_warm(tmp_path):
    data = DataFolder(tmp_path / "data")
    store = sqlite_url(data.store)
    command = [
        sys.executable,
        "-m",
        "pitstop.runner",
        "spare",
        "--spare",
        "s",
        "--store",
        store,
        "--data",
        str(tmp_path / "data"),
    ]
    with Path(tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True)
    seen: dict[int, psutil.Process] = {}
    try:

        def ended():
            if process.poll() is None:
                seen.update((child.pid, child) for child in psutil.Process(process.pid).children(recursive=True))
            return process.poll() is not None

        assert wait_until(ended, 180, step=0.1), (tmp_path / "log").read_text()[-2000:]
        assert process.returncode == 0
        assert not data.spare("s").ready.exists()
        assert wait_until(lambda: not [each for each in seen.values() if each.is_running()], 20, step=0.1)
    finally:
        for left in [*seen.values(), process]:
            if left.is_running() if isinstance(left, psutil.Process) else left.poll() is None:
                left.kill()
