"""docs/first-day.md, walked: each command is run, and each answer compared. Its table names tests that exist."""

import ast
import re
import subprocess
import sys
import time
from functools import cache

import pytest

from tests.e2e.reading import ROOT, blocks_of

TEXT = (ROOT / "docs" / "first-day.md").read_text()
LOOKS = ("pitstop status", "pitstop map entries", "pitstop list-jobs", "cat ")
"""Commands whose answers come once an epoch is over. They are asked again until the answer is that of the page."""


def steps(block):
    """Yield each command of a block, with the answer that the page shows."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, answer = part.partition("\n")
        yield command, answer


def pattern(answer):
    """Return the answer as a pattern: a dot of three is any text, and on a line of its own any lines."""
    lines = [r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n" for line in answer.splitlines()]
    return re.compile("".join(lines))


def answer_of(reader, command):
    """Return what a command prints, and its exit code."""
    done = subprocess.run(
        ["bash", "-c", re.sub(r"\bpython\b", sys.executable, command)],
        cwd=reader.folder,
        env=reader.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
    )
    return done.stdout.rstrip("\n") + "\n" * bool(done.stdout), done.returncode


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.always
@pytest.mark.timeout(1200)
def test_the_day(reader):
    for language, block in blocks_of(TEXT):
        if language == "json":
            (reader.folder / "orders").mkdir()
            (reader.folder / "orders" / "1.json").write_text(block)
        elif language == "python":
            (reader.folder / re.match(r"# (\S+)", block)[1]).write_text(block)
        for command, expected in steps(block) if language == "" else ():
            if command == "pitstop serve &":
                reader.serve(command)
                continue
            deadline = time.monotonic() + (180 if command.startswith(LOOKS) else 0)
            answer, code = answer_of(reader, command)
            while not pattern(expected).fullmatch(answer) and time.monotonic() < deadline:
                time.sleep(1)
                answer, code = answer_of(reader, command)
            assert pattern(expected).fullmatch(answer), f"$ {command}\n{answer}\n--- and not ---\n{expected}"
            assert (code != 0) == (re.search("^(ERROR|Error): ", expected, re.M) is not None), (command, code)
    logs = "".join(path.read_text() for path in (reader.folder / "data").rglob("*.log") if path.is_file())
    assert '"logger"' in logs
    assert [noise for noise in ("Failed to cancel job group", "in loadedMaps") if noise in logs] == []


@cache
def names_in(path):
    """Return the names of the tests of a file."""
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def rows():
    """Return (stumble, tests) of each row of the page's table."""
    section = TEXT.partition("## Each stumble, and its test\n")[2]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [(line[0].strip(), re.findall(r"`([^`]+)`", line[-1])) for line in lines[1:]]


def test_each_stumble_has_a_test_that_is_there():
    missing = []
    for stumble, names in rows():
        assert names, stumble
        for path, _, name in (each.partition("::") for each in names):
            if not (ROOT / path).is_file() or (path.endswith(".py") and name not in names_in(path)):
                missing.append(f"{path}::{name}")
    assert missing == []
    assert len(rows()) > 50
