"""Do one thing in a process of its own, such as compiling an artifact: the control plane runs no user code and no JVM."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.errors import EngineError, WaitTimeoutError
from pitstop.launchers.processes import handle_of, kill_all
from pitstop.model.data_folder import WorkerFolder

_at_once = threading.BoundedSemaphore(2)
"""Each process starts a JVM."""


def do_once(
    task: str, request: dict[str, Any], folder: WorkerFolder, environment: Mapping[str, str], what: str, seconds: float
) -> dict[str, Any]:
    """The result of ``task`` (see runner.worker_tasks), or ``{"error": {code, message, details}}``; ``folder`` is used up.

    Raises WaitTimeoutError after ``seconds`` and EngineError if the process ends without a result, both naming ``what``.
    """
    folder.root.mkdir(parents=True, exist_ok=True)
    folder.request.write_text(json.dumps(request))
    command = [sys.executable, "-m", "pitstop.runner", "once", "--task", task, "--folder", str(folder.root)]
    try:
        with _at_once:
            code = _run(command, folder.log, environment, what, seconds)
        if not folder.result.exists():
            raise EngineError(f"{what} ended without a result (exit code {code}): {_end_of(folder)}")
        return dict(json.loads(folder.result.read_text()))
    finally:
        shutil.rmtree(folder.root, ignore_errors=True)


def _run(command: list[str], log_file: Path, environment: Mapping[str, str], what: str, seconds: float) -> int:
    with log_file.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    handle = handle_of(process.pid)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise WaitTimeoutError(f"{what} was not done within {seconds:.0f} seconds.") from None
    finally:
        if handle is not None:
            kill_all(handle)
        process.wait()


def _end_of(folder: WorkerFolder) -> str:
    lines = folder.log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing."
