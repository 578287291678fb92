"""Engines that jobs share: started when a run first needs one, found again by the control plane that follows."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import EngineError, NotFoundError
from pitstop.kit.jsonable import from_json
from pitstop.kit.version import __version__
from pitstop.kit.waiting import wait_until
from pitstop.launchers.engine_socket import connect
from pitstop.launchers.processes import Child, handle_in, handle_of, is_alive, kill_all, pid_of, write_json
from pitstop.model.cluster import EngineInfo
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import EngineFolder

log = structlog.get_logger("pitstop.launcher")
INFOS_SECONDS = 5.0
"""The time for which the facts of engines are as fresh as they need be, in seconds."""
FACTS_SECONDS = 0.5
UNUSED_SECONDS = 2.0
"""The longest that the end of a server waits until an engine has noticed that its spares are gone, in seconds."""
RELEASE_SECONDS = 75.0
"""The longest that an engine may take to end what a process has left, in seconds. Before that it ends itself if it can."""
AGAIN_SECONDS = 0.2
LAST_LINES = 20
UP_SECONDS = 120.0
"""The longest that an engine may take to start, in seconds, before the one that it is to replace stays."""

Spawn = Callable[[list[str], Path], Child]
"""Starts ``pitstop.runner`` with arguments and a log file."""


class Engines:
    """The engines of one server. One that another release has started, or with another environment, gets no runs any more."""

    def __init__(self, data: DataFolder, environment: Mapping[str, str], spawn: Spawn) -> None:
        self._data, self._spawn = data, spawn
        # Each login has another number.
        variables = sorted((name, value) for name, value in environment.items() if not name.startswith("XDG_"))
        self._form = hashlib.sha256(repr((__version__, variables)).encode()).hexdigest()[:16]
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._infos: list[EngineInfo] = []
        self._infos_until = float("-inf")
        self._children: dict[str, Child] = {}
        for folder in self._folders():
            if self._is_alive(folder) and _record(folder).get("form") != self._form:
                folder.retired.touch()

    def folder(self, name: str) -> EngineFolder:
        """Return the folder of the engine of that name; start the engine if none runs. OSError if that fails."""
        with self._lock:
            self._remove_ended()
            for folder in self._folders():
                if self._is_alive(folder) and not folder.retired.exists() and _record(folder).get("name") == name:
                    return folder
            return self._start(name)

    def replace(self, name: str) -> None:
        """Start another engine of that name, and once it is up give the old one no runs any more. That ends with its last job.

        NotFoundError if no engine of that name is up, EngineError if the other one does not come up: then all stays as it is.
        """
        with self._lock:
            self._remove_ended()
            before = [folder for folder in self._folders() if self._is_alive(folder) and _record(folder).get("name") == name]
            if not any(not folder.retired.exists() for folder in before):
                names = sorted({str(_record(folder).get("name")) for folder in self._folders() if self._is_alive(folder)})
                raise NotFoundError(f"No engine '{name}' is up. Engines: {', '.join(names) or 'none'}.")
            successor = self._start(name)
        wait_until(lambda: successor.ready.exists() or not self._is_alive(successor), UP_SECONDS, step=AGAIN_SECONDS)
        if not successor.ready.exists():
            if (handle := handle_in(successor.process)) is not None:
                kill_all(handle)
            lines = successor.log.read_text().splitlines()[-LAST_LINES:] if successor.log.exists() else []
            log.error("an engine that was to replace another one did not come up", engine=successor.root.name, last_lines=lines)
            raise EngineError(f"A new engine '{name}' did not come up: the server's log tells why. The jobs stay where they are.")
        for folder in before:
            folder.retired.touch()
        self._infos_until = float("-inf")

    def jobs_in_replaced(self, name: str) -> list[str]:
        """Return the ids of the jobs that are still in engines of that name which were replaced."""
        folders = [folder for folder in self._folders() if folder.retired.exists() and _record(folder).get("name") == name]
        answers = [self._ask(folder, {"facts": True}, FACTS_SECONDS) for folder in folders if self._is_alive(folder)]
        return sorted({str(job) for answer in answers if answer is not None for job in answer["facts"]["jobs"]})

    def infos(self) -> list[EngineInfo]:
        """Return the engines that are up, in the order of their names. One that does not answer is left out."""
        with self._asking:
            if time.monotonic() > self._infos_until:
                self._infos, self._infos_until = self._asked(), time.monotonic() + INFOS_SECONDS
            return self._infos

    def _asked(self) -> list[EngineInfo]:
        infos = []
        for folder in self._folders():
            answer = self._ask(folder, {"facts": True}, FACTS_SECONDS) if self._is_alive(folder) else None
            if answer is not None:
                facts = {"name": str(_record(folder).get("name")), "id": folder.root.name, "retired": folder.retired.exists()}
                infos.append(from_json(EngineInfo, answer["facts"] | facts))
        return sorted(infos, key=lambda info: (info.name, info.started))

    def wait_for_release(self, run: RunHandle) -> None:
        """Wait until no engine runs anything of a process that has been killed. An engine that does not let go is killed, too."""
        pid = pid_of(run)
        if pid is None:
            return
        for folder in self._folders():
            deadline = time.monotonic() + RELEASE_SECONDS
            while self._is_alive(folder) and folder.ready.exists():
                if self._ask(folder, {"gone": pid}, RELEASE_SECONDS) is not None:
                    break
                handle = handle_in(folder.process)
                if time.monotonic() > deadline and handle is not None:
                    log.error("an engine that does not let go of a run is killed", engine=folder.root.name)
                    kill_all(handle)
                time.sleep(AGAIN_SECONDS)

    def end_unused(self) -> None:
        """End the engines in which nothing runs, because their server ends. Others go on with their jobs."""
        for folder in self._folders():
            handle = handle_in(folder.process)
            if handle is not None and is_alive(handle) and self._is_unused(folder):
                kill_all(handle)
                shutil.rmtree(folder.root, ignore_errors=True)

    def _is_unused(self, folder: EngineFolder) -> bool:
        """Return True once an engine has neither a job nor a spare. It may take a moment to notice that a spare is gone."""
        deadline = time.monotonic() + UNUSED_SECONDS
        while True:
            answer = self._ask(folder, {"facts": True}, FACTS_SECONDS)
            if answer is None or answer["facts"]["jobs"] or time.monotonic() > deadline:
                return False
            if not answer["facts"]["spares"]:
                return True
            time.sleep(AGAIN_SECONDS)

    def _ask(self, folder: EngineFolder, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer of an engine that is up; None, with a line in the log, if there is none."""
        if not folder.ready.exists():
            return None
        try:
            connection = connect(folder.socket)
        except OSError:
            return None
        try:
            return connection.ask(request, seconds)
        except EngineError as error:
            log.warning("an engine does not answer", engine=folder.root.name, request=next(iter(request)), reason=error.message)
            return None
        finally:
            connection.close()

    def _start(self, name: str) -> EngineFolder:
        engine_id = f"{name}-{secrets.token_hex(4)}"
        folder = self._data.engine(engine_id)
        folder.root.mkdir(parents=True)
        process = self._spawn(["engine", "--id", engine_id], folder.log)
        self._children[engine_id] = process
        handle = handle_of(process.pid)
        if handle is not None:
            write_json(folder.process, {"handle": handle, "name": name, "form": self._form})
        log.info("an engine starts", engine=engine_id, pid=process.pid)
        return folder

    def _remove_ended(self) -> None:
        for engine_id, process in list(self._children.items()):
            if process.poll() is not None:
                del self._children[engine_id]
                log.info("an engine has ended", engine=engine_id, exit_code=process.returncode)
        for folder in self._folders():
            if not self._is_alive(folder):
                handle = handle_in(folder.process)
                if handle is not None:
                    kill_all(handle)  # its Java may be ending slowly, or not at all
                shutil.rmtree(folder.root, ignore_errors=True)

    def _is_alive(self, folder: EngineFolder) -> bool:
        handle = handle_in(folder.process)
        return handle is not None and is_alive(handle)

    def _folders(self) -> list[EngineFolder]:
        return [self._data.engine(path.name) for path in sorted(self._data.engines.glob("*"))]


def _record(folder: EngineFolder) -> dict[str, Any]:
    """Return what the launcher has written of an engine; an empty mapping if its folder goes at this moment."""
    try:
        return dict(json.loads(folder.process.read_text()))
    except (OSError, ValueError):
        return {}
