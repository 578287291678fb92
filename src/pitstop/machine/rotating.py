"""Logs that are rotated by size, and read by positions that rotation does not change.

The parts of ``runner.log`` that are full stand beside it as ``runner.log.<position of its first byte>``. Lines never span parts.
Run as a script, it writes the output of a process and its children, which comes through a pipe. It outlives a killed process
until the last words of that are written. It uses nothing but Python itself, so that it is small and starts at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

LONGEST_LINE = 1 << 20
"""The longest line, in bytes. A longer one is written in pieces."""
PIPE_BYTES = 1 << 19
"""The most bytes that wait in the pipe while the disk is slow. In a full pipe, lines over 4 KiB of several writers may mix."""
OURS = b'{"time":'
"""The beginning of a line that is in the form of our logs already."""
_EPOCH_OF_JAVA = re.compile(rb'"epoch":"(\d+)"')
"""The key that log4j writes as a text, and all others as a number."""
_TRACE, _HUNG_UP = b"Traceback (most recent call last):", (b"BrokenPipeError:", b"ConnectionResetError:")
_LONGEST_TRACE = 20
"""The most lines of a trace that are held back until its end is there."""
_DIGITS = 16


@dataclass(frozen=True)
class Rotation:
    """The settings of a log: its size, the parts that are kept, and the other target of its lines."""

    most_bytes: int = 64 << 20
    """The most bytes in one part, before a new one begins."""
    kept: int = 5
    """The number of full parts that stay: at least one, since it tells the position at which the next one begins."""
    printed: bool = False
    """True if lines that come through a pipe also go to standard output, for containers, whose output is collected."""

    def __post_init__(self) -> None:
        if self.kept < 1:
            raise ValueError("at least one full part of a log is kept")


@dataclass(frozen=True)
class Part:
    """A part of a log that is written no more."""

    first: int
    """The position of its first byte, counted from the beginning of the log."""
    size: int
    path: Path

    @property
    def end(self) -> int:
        return self.first + self.size


def full_parts(log: Path) -> list[Part]:
    """Return the parts beside ``log``, oldest first."""
    parts = []
    with contextlib.suppress(FileNotFoundError), os.scandir(log.parent) as entries:
        for entry in entries:
            name, _, first = entry.name.rpartition(".")
            if name == log.name and len(first) == _DIGITS and first.isdigit():
                with contextlib.suppress(FileNotFoundError):
                    parts.append(Part(int(first), entry.stat().st_size, Path(entry.path)))
    return sorted(parts, key=lambda part: part.first)


def read_from(log: Path, position: int, most: int) -> tuple[int, bytes]:
    """Return (position, at most ``most`` bytes of one part) from a position on, or from a later one if that is no longer kept."""
    while True:
        parts = full_parts(log)
        try:
            for part in parts:
                if position < part.end:
                    begin = max(position, part.first)
                    return begin, _read(part.path, begin - part.first, most)
            first = parts[-1].end if parts else 0
            content = _read(log, max(0, position - first), most) if log.exists() else b""
            size = log.stat().st_size if log.exists() else 0
        except FileNotFoundError:  # rotated, or removed, meanwhile
            continue
        if full_parts(log) == parts:
            return min(max(position, first), first + size), content


def _read(path: Path, offset: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(min(offset, os.fstat(file.fileno()).st_size))  # no file system takes each number
        return file.read(most)


class RotatingLog:
    """Appends whole lines to a log. Several processes may do so at once: an exclusive lock on the file makes each write one."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self._path, self._rotation = path, rotation
        self._file: int | None = None

    def write(self, lines: bytes) -> None:
        """Append lines with their ends; OSError if the disk takes no more (some of them may be written then)."""
        while True:
            file = self._locked()
            try:
                size = os.fstat(file).st_size
                if size and os.pread(file, 1, size - 1) != b"\n":  # of a writer that was killed, or found the disk full
                    size += os.write(file, b"\n")
                if not size or size + len(lines) <= self._rotation.most_bytes:
                    _write_all(file, lines)
                    return
                self._rotate()
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def _locked(self) -> int:
        """Return the file, once it is ours alone and is still the one of that name."""
        while True:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                    return self._file
            os.close(self._file)
            self._file = None

    def _rotate(self) -> None:
        parts = full_parts(self._path)
        first = parts[-1].end if parts else 0
        self._path.rename(self._path.with_name(f"{self._path.name}.{first:0{_DIGITS}d}"))
        for part in full_parts(self._path)[: -self._rotation.kept]:
            part.path.unlink(missing_ok=True)


def _write_all(file: int, lines: bytes) -> None:
    rest = memoryview(lines)
    while rest:
        rest = rest[os.write(file, rest) :]


class _Traces:
    """Leaves out the traces that Spark's own daemon of Python workers prints when Java wants no more of a worker.

    Java hangs up as soon as it has what it wants. On a busy machine that is before the worker has said goodbye, and no fault. The
    planners of sources in Python run in that daemon, and no setting gives them another one.
    """

    def __init__(self) -> None:
        self._trace: list[bytes] = []

    def passed(self, lines: list[bytes]) -> list[bytes]:
        """Return the lines that go on, with those that were held back and are no part of such a trace."""
        passed: list[bytes] = []
        for line in lines:
            if self._trace and line.startswith(b" ") and len(self._trace) < _LONGEST_TRACE:
                self._trace.append(line)
            elif self._trace and line.startswith(_HUNG_UP) and all(map(_is_of_daemon, self._trace)):
                self._trace = []
            else:
                passed += self.rest()
                if line == _TRACE:
                    self._trace = [line]
                else:
                    passed.append(line)
        return passed

    def rest(self) -> list[bytes]:
        """Return the lines that are held back, and hold none back any more."""
        lines, self._trace = self._trace, []
        return lines


def _is_of_daemon(line: bytes) -> bool:
    return not line.startswith(b'  File "') or b"/pyspark/daemon.py" in line


class _Destination:
    """The target of lines. Lines that the disk does not take are lost, and reported once it takes lines again: no job waits."""

    def __init__(self, path: Path, rotation: Rotation, facts: dict[str, object], moves_to: Path | None) -> None:
        self._rotation, self._moves_to = rotation, moves_to
        self._log, self._facts = RotatingLog(path, rotation), _after_other_keys(facts)
        self._lost = 0
        self._traces = _Traces()

    def write(self, lines: bytes) -> None:
        self._append(self._traces.passed(lines.splitlines()))

    def close(self) -> None:
        """Write what has been held back."""
        if lines := self._traces.rest():
            self._append(lines)

    def _append(self, lines: list[bytes]) -> None:
        self._move_if_asked()
        shaped = b"".join(in_our_form(line, self._facts) for line in lines if line.strip())
        try:
            if self._lost:
                notice = _line("WARN", f"{self._lost:,} bytes of this log are lost: it could not be written")
                self._log.write(in_our_form(notice, self._facts))
                self._lost = 0
            self._log.write(shaped)
        except OSError:
            self._lost += len(shaped)
        if self._rotation.printed and self._moves_to is None:  # what nobody has use for yet is printed by nobody
            with contextlib.suppress(OSError):
                _write_all(1, shaped)

    def _move_if_asked(self) -> None:
        if self._moves_to is None or not self._moves_to.exists():
            return
        destination = json.loads(self._moves_to.read_text())
        self._moves_to = None
        self._log, self._facts = RotatingLog(Path(destination["log"]), self._rotation), _after_other_keys(destination["facts"])


def _after_other_keys(facts: dict[str, object]) -> bytes:
    return b"".join(f", {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}".encode() for key, value in facts.items())


def in_our_form(line: bytes, facts: bytes) -> bytes:
    """Return a line as JSON with these facts at its end, and a line feed. Any other text becomes a line of our logs."""
    if not (line.startswith(OURS) and line.endswith(b"}")):
        line = _line("INFO", line.decode("utf-8", errors="replace"))
    line = _EPOCH_OF_JAVA.sub(rb'"epoch":\1', line)
    return line[:-1] + facts + b"}\n"


def _line(level: str, message: str) -> bytes:
    entry = {"time": stamp(time.time()), "level": level, "logger": "output", "msg": message}
    return json.dumps(entry, ensure_ascii=False).encode()


def stamp(now: float) -> str:
    """``2023-08-09T12:24:59,753``, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f",{int(now * 1000) % 1000:03d}"


def pump(source: int, destination: _Destination) -> None:
    """Write what comes through a pipe, line by line, until all its writers are gone."""
    rest = b""
    while chunk := os.read(source, 1 << 16):
        end = chunk.rfind(b"\n") + 1
        if end or len(rest) > LONGEST_LINE:
            end = end or len(chunk)
            destination.write(rest + chunk[:end])
            rest = chunk[end:]
        else:
            rest += chunk
    if rest:
        destination.write(rest)
    destination.close()


def start_pump(log: Path, rotation: Rotation, facts: dict[str, object], moves_to: Path | None) -> subprocess.Popen[bytes]:
    """Start the script; its standard input is the pipe.

    ``facts`` stand in each line. Once the file ``moves_to`` is there, ``{"log": path, "facts": {...}}``, lines go to that log.
    """
    settings = {"log": str(log), "rotation": asdict(rotation), "facts": facts, "moves_to": str(moves_to or "")}
    command = [sys.executable, "-I", "-S", __file__, json.dumps(settings)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # a user with very many of them has smaller ones
        fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return process


def main() -> None:
    settings = json.loads(sys.argv[1])
    os.umask(0o077)
    moves_to = Path(settings["moves_to"]) if settings["moves_to"] else None
    pump(0, _Destination(Path(settings["log"]), Rotation(**settings["rotation"]), settings["facts"], moves_to))


if __name__ == "__main__":
    main()
