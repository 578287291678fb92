"""Start and end the whole demo: control plane, both simulators, and their clean end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from verify import Key, ingested

from pitstop.client import Client, JobHandle, connect
from pitstop.launchers.processes import is_alive, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry

if TYPE_CHECKING:
    from kafka_stack import Broker

HERE = Path(__file__).parent


class Stack:
    """A control plane with its own data folder, and the two simulators."""

    def __init__(
        self,
        folder: Path,
        seed: int = 7,
        speedup: float = 30.0,
        port: int = 0,
        spares: int = 0,
        beta_options: tuple[str, ...] = (),
        broker: Broker | None = None,
    ) -> None:
        """With a ``broker``, the simulators send each ping to its topic, and the job reads that one."""
        self.folder = folder
        self.data, self.alpha_dir, self.archive = folder / "data", folder / "alpha", folder / "archive"
        self.shared = folder / "shared"
        """Modules that the server's jobs share."""
        self._seed, self._speedup, self._port, self._spares = seed, speedup, port, spares
        self._beta_options, self.broker = beta_options, broker
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self.url = self.beta_url = ""
        self.job_file = HERE / "ingest.py" if broker is None else broker.job_file

    def __enter__(self) -> Stack:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and kind is not KeyboardInterrupt:
            print(self.last_lines(), file=sys.stderr)
        self.end()

    def last_lines(self, lines: int = 60) -> str:
        """Return the end of each log of the server, its simulators and its jobs: what tells why a story went wrong."""
        logs = sorted(path for path in self.folder.rglob("*.log") if path.is_file())
        ends = ("\n".join(path.read_text(errors="replace").splitlines()[-lines:]) for path in logs)
        return "\n".join(f"---- {path.relative_to(self.folder)}\n{end}" for path, end in zip(logs, ends, strict=True))

    def start_server(self, seconds: float = 60.0, members: int = 0, options: tuple[str, ...] = ()) -> Client:
        """Start ``pitstop serve``, with so many members; returns once it answers."""
        command = [sys.executable, "-m", "pitstop.main", "serve", "--data", str(self.data)]
        command += ["--port", str(self._port), "--spares", str(self._spares), "--stop-jobs-on-exit"]
        command += ["--members", str(members), *options]
        process = self._start("server", command, self.folder / "server.log")
        self.url = self._first_line(process, seconds).split(" serves at ")[1].split()[0]
        self._port = int(self.url.rsplit(":", 1)[1])
        return connect(self.url)

    def start_simulators(self) -> None:
        """Start Alpha and Beta on the same seed: together they are one world."""
        common = ["--seed", str(self._seed), "--speedup", str(self._speedup)]
        common += self.broker.simulator_options if self.broker else ()
        alpha = [sys.executable, "-m", "fleetsim.alpha", "--dir", str(self.alpha_dir), *common, "--torn"]
        beta = [sys.executable, "-m", "fleetsim.beta", *common, *self._beta_options]
        self._start("alpha", alpha, self.folder / "alpha.log")
        process = self._start("beta", beta, self.folder / "beta.log")
        self.beta_url = json.loads(self._first_line(process, 60.0))["url"]

    @property
    def job_arguments(self) -> tuple[str, ...]:
        if self.broker:
            return self.broker.servers, str(self.archive)
        return str(self.alpha_dir), self.beta_url, str(self.archive)

    def outputs(self) -> dict[str, Counter[Key]]:
        """Return the pings in each output of the job."""
        topics = {"in the topic": self.broker.ingested()} if self.broker else {}
        return {"ingested": ingested(self.archive)} | topics

    def kill_server(self) -> None:
        """SIGKILL, as a crash would."""
        process = self._processes.pop("server")
        process.kill()
        process.wait()

    def kill_run(self, job: JobHandle) -> int:
        """SIGKILL all processes of a job's run, whether or not it began as a spare; its token."""
        token, database = job.details.token, open_database(sqlite_url(DataFolder(self.data).store))
        try:
            handle = SqlRegistry(database).handle_of(job.id, token)
        finally:
            database.close()
        if handle is None or not is_alive(handle):
            raise RuntimeError(f"Job '{job.name}' has no run {token} that could be killed.")
        kill_all(handle)
        return token

    def ended_by_itself(self, name: str, seconds: float) -> int:
        """The exit code of a process that ends without being told to by us."""
        process = self._processes.pop(name)
        return process.wait(seconds)

    def pause_alpha(self) -> int:
        """End Alpha; how many pings it has written."""
        return self._end_simulator("alpha")

    def freeze_beta(self) -> None:
        """Let Beta make no more pings but go on answering: its process is asked to stop only at the end."""
        self._processes["beta"].send_signal(signal.SIGUSR1)

    def end(self) -> None:
        """End everything that was started, last first; the broker last of all, for the others still write to it."""
        for name in reversed(list(self._processes)):
            process = self._processes.pop(name)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.broker:
            self.broker.stop()

    def _end_simulator(self, name: str) -> int:
        process = self._processes.pop(name)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        return int(json.loads(out.splitlines()[-1])["pings"])

    def _start(self, name: str, command: list[str], log: Path) -> subprocess.Popen[str]:
        path = os.pathsep.join(filter(None, (str(HERE), str(self.shared), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
        with log.open("a") as errors:
            # A session of its own: Ctrl-C reaches only us, and we end the others in order.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment,
                start_new_session=True,
            )  # fmt: skip
        self._processes[name] = process
        return process

    def _first_line(self, process: subprocess.Popen[str], seconds: float) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"A process ended at once (exit code {process.wait(seconds)}):\n{self.last_lines()}")
        return line


def wait_until(condition: Callable[[], Any], seconds: float, what: str, step: float = 0.1) -> Any:
    """The condition's first true value; TimeoutError naming ``what`` if there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} seconds")
        time.sleep(step)
    return value
