"""Messages of a machine that has no room, memory, processes or threads, found in the texts of Spark's and Python's errors.

The same words may stand in a row that an error quotes, so it matters which error they come from.
"""

from __future__ import annotations

import re
from itertools import takewhile

from pitstop.errors import NO_THREADS

NO_MEMORY = "MemoryError"
"""Python's message, in a line of its own. Java's OutOfMemoryError is about its heap instead."""

_WORDS = (
    *("No space left on device", "Disk quota exceeded", "Read-only file system", "Too many open files"),
    *("Cannot allocate memory", "Resource temporarily unavailable", "unable to create native thread"),
    *("Input/output error", "Stale file handle", "database or disk is full"),
)
"""The operating system's messages, as they come through Java and through Python's errors in Spark's processes."""

_PYTHON = frozenset({OSError.__name__, *(error.__name__ for error in OSError.__subclasses__()), "OperationalError"})
_JAVA = re.compile(r"\w*IOException|FileNotFoundException|FileSystemException|SocketException|OutOfMemoryError")
_LIBRARIES = frozenset({"RocksDBException", "ExitCodeException"})

_AROUND = re.compile(
    r"""(?x) ^(?: Caused\ by: | .*Lost\ task\ \S+\ in\ stage\ \S+\ \(TID\ \d+\)\ \([^)]*\): | .*terminated\ with\ exception:
    | (?:[\w$]+\.)*(?:SparkException|ExecutionException|RuntimeException|FSError): | : )\s*(?=\S)"""
)
"""The text that Spark and Java put before the original error."""
_SHUFFLES = re.compile(r"\s*at org\.apache\.spark\.shuffle\.")
_OF_DRIVER = "terminated with exception:"

_OF_ROWS = re.compile(r"\[[A-Z][A-Z0-9_.]*\] .*?SQLSTATE: (\w{5})", re.DOTALL)
"""A message of Spark's with an error class. It may take several lines if the value that it quotes does."""
_STATE = re.compile(r"SQLSTATE: \w{5}")
_DATA = ("22", "P0001")
"""The prefixes of SQLSTATE classes that say that a row is wrong: data exceptions, and ``raise_error``."""


def without_rows(text: str) -> str:
    """Return an error's text without those messages of Spark's that say that a row is wrong, and quote it."""
    # Behind the last state the pattern would look through all of a long text once for each word in brackets.
    end = max((match.end() for match in _STATE.finditer(text)), default=0)
    return _OF_ROWS.sub(lambda match: "" if match[1].startswith(_DATA) else match[0], text[:end]) + text[end:]


def no_room_in(text: str) -> str | None:
    """Return the error that says that the machine has no room, of the line of a text that quotes it; None if there is none."""
    return next((error for line in without_rows(text).splitlines() if (error := _error_in(line.strip())) is not None), None)


def no_room_to_shuffle(text: str) -> bool:
    """Return True if Java's trace in an error's text says that there was no room for rows that Spark shuffles."""
    lines = iter(without_rows(text).splitlines())
    for line in lines:
        if _error_in(line.strip()) is not None:
            for frame in takewhile(lambda each: each.lstrip().startswith("at "), lines):
                if _SHUFFLES.match(frame):
                    return True
    return False


def _error_in(line: str) -> str | None:
    if line.split(":")[0] == NO_MEMORY or line == f"RuntimeError: {NO_THREADS}":
        return line
    if not any(word in line for word in _WORDS):
        return None
    rest, of_driver = line, False
    while (around := _AROUND.match(rest)) is not None:
        rest, of_driver = rest[around.end() :], around[0].rstrip().endswith(_OF_DRIVER)
    kind = rest.partition(":")[0].split(" exitCode=")[0].rpartition(".")[2]
    if kind in _PYTHON | _LIBRARIES or _JAVA.fullmatch(kind):
        return rest
    # Of an error of its driver Spark tells the words alone. Its own errors begin with their class, others with their name.
    return rest if of_driver and not rest.startswith("[") and not kind.endswith(("Error", "Exception")) else None
