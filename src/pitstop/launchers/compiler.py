"""Compile an artifact in a process of its own: the control plane runs no user code and no JVM."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from pitstop.errors import EngineError, WaitTimeoutError
from pitstop.launchers.processes import identity_of, kill_all

COMPILE_SECONDS = 180.0
_at_once = threading.BoundedSemaphore(2)
"""Each compiler starts a JVM."""


def compile_artifact(
    artifact: Path, entry: str | None, args: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> dict[str, object]:
    """``{"plan", "options"}`` of an artifact's job, or ``{"error": {code, message, details}}``; ``folder`` is used up.

    Raises WaitTimeoutError after 180 s and EngineError if the compiler's process ends without a result.
    """
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "plan.json"
    command = [sys.executable, "-m", "pitstop.runner", "compile", "--artifact", str(artifact), "--out", str(out)]
    command += [*(["--entry", entry] if entry else []), "--", *args]
    try:
        with _at_once:
            code = _run(command, folder / "compile.log", environment, artifact.name)
        if not out.exists():
            raise EngineError(f"Compiling {artifact.name} ended without a result (exit code {code}): {_end_of(folder)}")
        return dict(json.loads(out.read_text()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], log_file: Path, environment: Mapping[str, str], name: str) -> int:
    with log_file.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    identity = identity_of(process.pid)
    try:
        return process.wait(COMPILE_SECONDS)
    except subprocess.TimeoutExpired:
        raise WaitTimeoutError(f"Compiling {name} was not done within {COMPILE_SECONDS:.0f} seconds.") from None
    finally:
        if identity is not None:
            kill_all(*identity)
        process.wait()


def _end_of(folder: Path) -> str:
    lines = (folder / "compile.log").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing."
