"""The code of the documentation: a test runs it, or it is listed here with what is checked of it.

What no test runs is read at least: Python must compile and call what Pitstop has, and a command must be one, with its options.
"""

import ast
import re
import shlex
import textwrap
from itertools import takewhile
from pathlib import Path

import click
import pytest

import pitstop
from pitstop.main.commands import commands

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
RUN = {
    "README.md": "tests/e2e/test_readme.py",
    "adopt-kafka.md": "tests/e2e/test_adopt_kafka.py",
    "adopt.md": "tests/e2e/test_adopt.py",
    "changes.md": "tests/e2e/test_changes.py",
    "delta.md": "tests/spark/sinks/test_delta.py",
    "debugging.md": "tests/spark/testing/test_documented_pages.py",
    "extending.md": "tests/spark/extensions/test_documented.py",
    "first-day.md": "tests/e2e/test_first_day.py",
    "iceberg.md": "tests/spark/sinks/test_iceberg.py",
    "notebooks.md": "tests/spark/testing/test_documented_pages.py",
    "s3.md": "tests/e2e/test_s3.py",
    "testing.md": "tests/spark/testing/test_documented.py",
    "tutorial.md": "tests/e2e/test_new_project.py",
}
"""Page -> the test that runs its code."""
BUILT = {
    "kafka.md": "tests/brokers",
    "postgres.md": "tests/postgres",
    "security.md": "tests/e2e/test_secrets.py",
    "spark-formats.md": "tests/spark/sources/test_spark.py",
    "stages.md": "tests/spark/test_stages.py",
}
"""Page with parts of jobs, of which test_documented_parts.py makes pipelines -> the tests that run the like."""
READ_ONLY = {
    "dependencies.md": "the head of a job; tests/e2e/test_dependencies.py runs jobs with such heads",
    "engines.md": "commands for a machine of one's own",
    "real-time.md": "commands for a machine of one's own",
    "sql.md": "tests/unit/sql reads each statement, tests/e2e runs such jobs",
}
"""Page -> the reason why its code is only read, and what runs the like."""
BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.M | re.S)
CODE = ("python", "sh", "bash", "sql")


def blocks(page, *languages):
    found = BLOCK.findall(page.read_text())
    return [textwrap.dedent(text) for _, language, text in found if language in languages]


def test_code_of_each_page_is_run_or_listed():
    with_code = {page.name for page in PAGES if blocks(page, *CODE)}
    assert with_code == RUN.keys() | BUILT.keys() | READ_ONLY.keys()
    assert len(RUN) + len(BUILT) + len(READ_ONLY) == len(with_code)
    assert all((ROOT / tests).exists() for tests in BUILT.values())


@pytest.mark.parametrize(("page", "test"), RUN.items())
def test_the_test_that_is_said_to_run_a_page_reads_it(page, test):
    text = (ROOT / test).read_text()
    assert page in text or page.removesuffix(".md") in text or page == "tutorial.md"


PYTHON = [(page, text) for page in PAGES if page.name != "extending.md" for text in blocks(page, "python")]
"""docs/extending.md shows parts of files of Pitstop, too."""


@pytest.mark.parametrize(("page", "text"), PYTHON, ids=[f"{page.name} {text.strip()[:40]!r}" for page, text in PYTHON])
def test_python_compiles_and_calls_what_there_is(page, text):
    tree = ast.parse(text)
    unknown = [name for node in ast.walk(tree) if isinstance(node, ast.Attribute) and (name := missing(node)) is not None]
    assert unknown == []


def missing(node):
    """The name of an attribute of ``ps``, or of its sources and sinks, if there is none."""
    names = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id != "ps":
        return None
    owner = pitstop
    for name in names[:2]:
        if not hasattr(owner, name):
            return ".".join(["ps", *names])
        owner = getattr(owner, name)
        if name not in ("sources", "sinks"):
            return None
    return None


SHELL = re.compile(r"[|&;]+|2?>+.*|<.*")
"""The words of a line that are for the shell, at which the words of a command end."""


def lines_of(page):
    """Commands of Pitstop in the blocks of a page: without prompts, comments, and what is behind signs of the shell."""
    for _, language, text in BLOCK.findall(page.read_text()):
        if language not in ("", "sh", "bash", "console"):
            continue
        for line in textwrap.dedent(text).replace("\\\n", " ").splitlines():
            words = re.match(r"(?:\$ )?(?:\.venv/bin/)?pitstop +(\S.*)", line)
            if words:
                yield words[1]


LINES = sorted({(page.name, line) for page in PAGES for line in lines_of(page)})


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page} {line[:50]}" for page, line in LINES])
def test_a_command_is_one_and_has_the_options_that_are_written(page, line):
    command, words = commands(), list(takewhile(lambda word: not SHELL.fullmatch(word), shlex.split(line, comments=True)))
    path = []
    while isinstance(command, click.Group) or hasattr(command, "commands"):
        word = next((word for word in words if not word.startswith("-")), None)
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        while words and words[0].startswith("-"):
            option = words.pop(0).partition("=")[0]
            assert option in options | {"-h", "--help"}, f"{option} before a command"
            if option in ("-t", "--url", "--token-file", "-o", "--output") and words:
                words.pop(0)
        if not words:
            return
        word = words.pop(0)
        path.append(word)
        assert word in command.commands, " ".join(path)
        command = command.commands[word]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    given = [word.partition("=")[0] for word in words if re.match(r"--[a-z]|-[A-Za-z]$", word)]
    assert [option for option in given if option not in options | {"-h", "--help"}] == []
