"""The PostgreSQL that scripts/with-postgres has started, as a server that is killed, stands still, and is started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import psutil
import psycopg

from pitstop.kit.waiting import wait_until
from tests.chaos.processes import below, send
from tests.postgres.server import empty_database, new_database

START_SECONDS = 60


class Postgres:
    """One database of it, in which no commit is told of before it is with the operating system: its processes are killed."""

    def __init__(self, tables: str = "") -> None:
        """``tables``: statements that make those of jobs; without them, the database has the tables of the store."""
        self._data = Path(os.environ["PITSTOP_TEST_POSTGRES_DATA"])
        self._bin = Path(os.environ["PITSTOP_TEST_POSTGRES_BIN"])
        self.url = empty_database() if tables else new_database()
        with psycopg.connect(self.url, autocommit=True) as connection:
            if tables:
                connection.execute(tables.encode())
            connection.execute(f"ALTER DATABASE {self.url.rpartition('/')[2]} SET synchronous_commit = on")

    def kill(self) -> None:
        """SIGKILL, for the first process and all that it has started; returns once none of them is left."""
        gone = self._send(signal.SIGKILL)
        # Also no zombie of it: pg_ctl takes one for a server that runs, and starts none.
        assert wait_until(lambda: not any(map(psutil.pid_exists, gone)), START_SECONDS), "PostgreSQL is killed"

    def stop(self) -> None:
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def start(self) -> None:
        """Once it has been killed; returns when it takes connections. Nothing happens if it runs."""
        if self._run("status").returncode == 0:
            return
        self._run("-l", str(self._data.with_name("server.log")), "-w", "-t", str(START_SECONDS), "start").check_returncode()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [self._bin / "pg_ctl", "-D", self._data, *arguments]
        owner = self._data.stat()
        as_owner = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.getuid() == 0 else {}
        return subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **as_owner)

    def _send(self, number: signal.Signals) -> list[int]:
        with contextlib.suppress(FileNotFoundError):
            first = int((self._data / "postmaster.pid").read_text().splitlines()[0])
            processes = [first, *below([first])]
            for pid in processes:
                send(pid, number)
            return processes
        return []
