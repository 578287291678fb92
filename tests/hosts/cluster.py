"""Control planes, members and a PostgreSQL, each on a host of its own (tests.hosts.network)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.client import Client, connect
from tests.hosts.network import Host, Network

ROOT = Path(__file__).parents[2]
PORT = 8701
PITSTOP = (sys.executable, "-m", "pitstop.main")


class Cluster:
    """One store and one shared folder; control planes and members are started on hosts as they are asked for."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder, self.data, self._network = folder, folder / "data", network
        self.hosts = dict[str, Host]()
        self.processes = dict[str, subprocess.Popen[str]]()
        self._store = self._start_store()

    def start_plane(self, name: str, *options: str) -> Client:
        """A control plane without members of its own; its client."""
        host = self._host(name)
        shared = ("--data", str(self.data), "--port", str(PORT), "--host", host.address, "--cluster-host", host.address)
        process = self._start(host, *PITSTOP, "serve", *shared, "--spares", "0", *options)
        assert process.stdout is not None
        assert process.stdout.readline(), self.log(name)
        return connect(f"http://{host.address}:{PORT}", (self.data / "token").read_text())

    def start_member(self, name: str) -> None:
        """A member with one core."""
        host = self._host(name)
        self._start(host, *PITSTOP, "member", "--data", str(self.data), "--name", name, "--cores", "1", "--host", host.address)

    def address(self, plane: str) -> str:
        """As the store knows it."""
        return f"{self.hosts[plane].address}:{PORT}"

    def log(self, name: str) -> str:
        """What the process of a host has printed as errors."""
        return self._log(name).read_text()

    def _start_store(self) -> str:
        host = self._host("store")
        command = [str(ROOT / "scripts" / "with-postgres"), "sh", "-c", "echo $PITSTOP_TEST_POSTGRES; exec cat"]
        process = host.start(command, self._log("store"), PITSTOP_TEST_POSTGRES_ADDRESS=host.address)
        assert process.stdout is not None
        self.processes["store"] = process
        url = process.stdout.readline().strip()
        assert url, self.log("store")
        return url

    def _start(self, host: Host, *command: str) -> subprocess.Popen[str]:
        process = host.start(command, self._log(host.name), PITSTOP_STORE=self._store, PYTHONUNBUFFERED="1")
        self.processes[host.name] = process
        return process

    def _host(self, name: str) -> Host:
        if name not in self.hosts:
            self.hosts[name] = self._network.host(name)
        return self.hosts[name]

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def until(condition: Callable[[], Any], seconds: float, what: str) -> float:
    """How long it took until that was true."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.1)
    return time.monotonic() - began
