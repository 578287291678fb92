"""An executor of a member unpacks its libraries, and makes its sockets, in a folder of its own that is the user's alone."""

import os
import stat
from pathlib import Path

import psutil
import pytest

from tests.e2e.counting import COUNTING, lines_of

SECONDS = 240
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]


def executors(data):
    """Yield working folder, command and mapped files of each executor that works below a data folder."""
    for process in psutil.process_iter():
        try:
            command, folder = process.cmdline(), Path(process.cwd())
            if any("ExecutorBackend" in part for part in command) and folder.is_relative_to(data):
                yield folder, command, {Path(each.path) for each in process.memory_maps()}
        except psutil.Error:
            continue


def test_libraries_of_an_executor_lie_in_its_own_folder(stack, tmp_path):
    from stack import wait_until

    client = stack.start_server(members=1)
    (tmp_path / "counting.py").write_text(COUNTING)
    job = client.submit(
        tmp_path / "counting.py", args=[str(tmp_path / "out")], name="counting", config={"state_store": "rocksdb"}
    )
    job.wait_started(SECONDS)
    wait_until(lambda: len(lines_of(tmp_path / "out")) > 100, SECONDS, "the executor works")
    running = list(executors(stack.data))
    assert len(running) == 1
    for folder, command, mapped in running:
        assert command.count("-Djava.io.tmpdir=.") == 1
        facts = folder.stat()
        assert (facts.st_uid, stat.S_IMODE(facts.st_mode) & 0o077) == (os.geteuid(), 0)
        assert any(path.parent == folder and "rocksdb" in path.name for path in mapped), (
            "the library of RocksDB was unpacked here"
        )
        assert {path for path in mapped if path.parent in (Path("/tmp"), Path("/var/tmp"))} == set()
