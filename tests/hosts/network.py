"""Hosts of a private network on one machine, each by namespaces of Linux: of the network, processes, mounts and its name.

A host has an address on a bridge, a boot id and process numbers of its own, and shares the disk with the others. So what runs
on it is to all others as if it were on another machine with a shared folder. Its wire can be cut and healed, and its power
switched off. Needs root, and ``ip``, ``unshare`` and ``nsenter``.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

INIT = """
import signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who is orphaned here is collected by the kernel
print("up", flush=True)
sys.stdin.read()
"""
TOOLS = ("ip", "unshare", "nsenter", "mount")


def why_not() -> str | None:
    """Why there can be no such network here; None if there can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"there is no {missing[0]} here"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    tried = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--mount", "--uts", "--mount-proc", "true"], capture_output=True
    )
    return None if tried.returncode == 0 else f"namespaces cannot be made here: {tried.stderr.decode().strip()}"


class Host:
    """One host. ``address``: on the network."""

    def __init__(self, name: str, address: str, wire: str, init: subprocess.Popen[str], namespace: str) -> None:
        self.name, self.address = name, address
        self._wire, self._init, self._namespace = wire, init, namespace
        self._pid = _child_of(init.pid)

    def start(self, command: Sequence[str], log: Path, **environment: str) -> subprocess.Popen[str]:
        """Start a process there; its first lines can be read from it, errors go into ``log``."""
        with log.open("a") as errors:
            return subprocess.Popen(
                [*self._enter(), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=os.environ | environment,
                start_new_session=True,
            )

    def run(self, *command: str) -> str:
        """What a command that is run there prints."""
        return subprocess.run([*self._enter(), *command], check=True, capture_output=True, text=True).stdout

    def cut(self) -> None:
        """Pull out the plug: nothing comes or goes, and nobody is told."""
        _ip("link", "set", self._wire, "down")

    def heal(self) -> None:
        """Put it back."""
        _ip("link", "set", self._wire, "up")

    def processes(self, *words: str) -> list[int]:
        """Pids, as seen from outside, of what runs there with all of these words in its arguments."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                same = os.readlink(folder / "ns" / "pid") == os.readlink(f"/proc/{self._pid}/ns/pid")
                arguments = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if same and all(word in arguments for word in words):
                    found.append(int(folder.name))
        return found

    def signal(self, number: int, *words: str) -> int:
        """Send a signal to all processes there with these words in their arguments; how many got it."""
        found = self.processes(*words)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(found)

    def power_off(self) -> None:
        """Everything there ends at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._init.wait(30)
        _ip("netns", "del", self._namespace, check=False)

    def _enter(self) -> list[str]:
        entered = [f"--{kind}" for kind in ("net", "pid", "mount", "uts")]
        return ["nsenter", f"--target={self._pid}", *entered, f"--wd={Path.cwd()}", "--"]


class Network:
    """A bridge and the hosts on it, at 10.x.y.1, .2, …; we are at .254."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._hosts = folder, list[Host]()
        tag = secrets.token_hex(3)
        self._tag, self._bridge = tag, f"pt{tag}"
        self._net = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}"

    def __enter__(self) -> Network:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("addr", "add", f"{self._net}.254/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for host in self._hosts:
            host.power_off()
        _ip("link", "del", self._bridge, check=False)

    def host(self, name: str) -> Host:
        """One more host."""
        number = len(self._hosts) + 1
        namespace, wire = f"pt{self._tag}-{number}", f"pt{self._tag}-{number}w"
        address = f"{self._net}.{number}"
        _ip("netns", "add", namespace)
        _ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", wire, "master", self._bridge, "up")
        _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", namespace, "link", "set", device, "up")
        boot = self._folder / f"boot-{name}"
        boot.write_text(f"{uuid.uuid4()}\n")
        made = ["unshare", "--mount", "--pid", "--fork", "--uts", "--kill-child", "--mount-proc"]
        script = f"mount --bind {boot} /proc/sys/kernel/random/boot_id && hostname {name} && exec {sys.executable} -c '{INIT}'"
        init = subprocess.Popen(
            ["ip", "netns", "exec", namespace, *made, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert init.stdout is not None
        assert init.stdout.readline() == "up\n", f"the host {name} did not start"
        self._hosts.append(Host(name, address, wire, init, namespace))
        return self._hosts[-1]


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)


def _child_of(pid: int) -> int:
    """The only child of a process."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
