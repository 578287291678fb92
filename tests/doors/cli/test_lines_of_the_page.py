"""What "copy as CLI" gives on the page is what the command line understands (web/src/logic/everyCommand.test.ts records it)."""

import json
import shlex
from enum import Enum
from pathlib import Path

import pytest

from pitstop.main.commands import commands

LINES = json.loads((Path(__file__).parent / "lines_of_the_page.json").read_text())


def understood(words):
    """The values that the command line reads from a line, those of its own options left out that were not given."""
    command = commands()
    context = command.make_context("pitstop", list(words))
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context, {name for name in context.params if context.get_parameter_source(name).name == "COMMANDLINE"}


def flat(value):
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in flat(each)]
    if isinstance(value, dict):
        return [f"{key}={each}" for key, each in value.items()]
    return [str(value.value if isinstance(value, Enum) else value)]


@pytest.mark.parametrize(("action", "line"), [(action, line) for action, lines in LINES.items() for line in lines])
def test_the_command_line_reads_the_words_that_were_meant(action, line):
    program, *words = shlex.split(line["line"])
    assert program == "pitstop"
    context, given = understood(words)
    read = [text for name in given for text in flat(context.params[name])]
    numbers = [number for text in read if (number := float_of(text)) is not None]
    for meant in line["means"]:
        assert meant in read or float_of(meant) in numbers, (action, context.params)


def float_of(text):
    try:
        return float(text)
    except ValueError:
        return None
