"""The server's log, in a process of its own: the one form, levels that change while it runs, rotation."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, sys, time
from pathlib import Path
import structlog
from pitstop.machine.log_levels import LogLevel, write_levels
from pitstop.machine.rotating import Rotation
from pitstop.model.data_folder import DataFolder
from pitstop.server.logs import logging_to

log = structlog.get_logger("pitstop.control")
data = DataFolder(Path(sys.argv[1]))
with logging_to(data, Rotation(2000, 3)):
    log.debug("not yet")
    log.info("job state", job="käse", was="STARTING", now="RUNNING 100%")
    logging.getLogger("uvicorn.error").info("not shown")
    logging.getLogger("uvicorn.error").warning("of %s", "a library")
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("it failed", job="x")
    write_levels(data.log_levels, {"pitstop.control": LogLevel.DEBUG, "uvicorn": LogLevel.OFF})
    deadline = time.monotonic() + 30
    while not logging.getLogger("pitstop.control").isEnabledFor(logging.DEBUG) and time.monotonic() < deadline:
        time.sleep(0.02)
    log.debug("now")
    logging.getLogger("uvicorn.error").error("not any more")
    for number in range(100):
        log.info("filler", number=number)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """(folder, lines on standard error)"""
    folder = tmp_path_factory.mktemp("data")
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder, [json.loads(line) for line in done.stderr.splitlines()]


def test_lines_have_the_one_form_whoever_writes_them(found):
    told = {line["msg"]: line for line in found[1]}
    state = told["job state"]
    assert list(state) == ["time", "level", "logger", "msg", "thread", "job", "was", "now"]
    assert (state["level"], state["logger"], state["job"], state["now"]) == ("INFO", "pitstop.control", "käse", "RUNNING 100%")
    assert (told["of a library"]["level"], told["of a library"]["logger"]) == ("WARN", "uvicorn.error")
    assert told["it failed"]["level"] == "ERROR"
    assert told["it failed"]["error"].endswith("ZeroDivisionError: division by zero")


def test_levels_change_while_it_runs(found):
    told = [line["msg"] for line in found[1]]
    assert "now" in told
    assert not {"not yet", "not shown", "not any more"} & set(told)


def test_the_file_has_the_same_lines_and_is_rotated(found):
    folder, lines = found
    parts = sorted(folder.glob("server.log.*"))
    assert len(parts) == 3
    kept = [json.loads(line) for path in (*parts, folder / "server.log") for line in path.read_text().splitlines()]
    assert kept == lines[-len(kept) :]
    assert all(path.stat().st_size <= 2000 for path in parts)
