"""A job option is added in one module: parsing, storing, REST, command line, completion and docs follow from its record."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import dataclasses, json, sys
from dataclasses import dataclass
from pitstop.model import config
from pitstop.model.options import Option, one_of

class Colour(config.StrEnum):
    RED = "red"
    BLUE = "blue"

@config.described_by(lambda: {option.field: option.meaning for option in config.OPTIONS})
@dataclass(frozen=True)
class JobConfig(config.JobConfig):
    colour: Colour = Colour.RED

toy = Option(
    "colour", "colour", one_of(Colour), form="red or blue", meaning="Of the bicycle shed.", default="red",
    choices=tuple(Colour),
)
config.JobConfig, config.OPTIONS = JobConfig, (*config.OPTIONS, toy)

from fastapi.testclient import TestClient
from pitstop.cli.job_options import complete_option
from pitstop.client.http import HttpService
from pitstop.main.commands import app
from pitstop.main.reference import commands_part, options_page
from pitstop.errors import UsageError
from pitstop.kit.jsonable import from_json, to_json
from pitstop.rest.app import create_app
from pitstop.rest.access import Access

def refused(options):
    try:
        JobConfig.from_options(options)
    except UsageError as error:
        return error.message

stored = to_json(JobConfig.from_options({"colour": "Blue"}))
paths = create_app(HttpService(), Access("the-long-token")).openapi()
submit = paths["paths"]["/api/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
print(json.dumps({
    "stored": stored["colour"],
    "read back": from_json(JobConfig, stored).colour is Colour.BLUE,
    "refused": [refused({"colour": "green"}), refused({"color": "red"})],
    "request": submit["properties"]["options"]["properties"]["colour"]["description"],
    "answer": paths["components"]["schemas"]["JobConfig"]["properties"]["colour"]["description"],
    "help": "colour" in commands_part(app),
    "completed": [complete_option("col"), complete_option("colour=b")],
    "docs": options_page(config.OPTIONS).partition("## `colour`")[2].splitlines(),
}))
"""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_it_is_read_checked_and_stored(found):
    assert (found["stored"], found["read back"]) == ("blue", True)
    wrong_value, wrong_name = found["refused"]
    assert wrong_value == "Unsupported value for colour: green. Use red or blue."
    first = "allow_drop, allow_shared, auto_scaling, colour, compile_timeout, "
    assert wrong_name.startswith(f"Unknown job option: color. There are: {first}")


def test_rest_describes_it_in_requests_and_answers(found):
    assert found["request"] == "Of the bicycle shed. Write red or blue. Default: red."
    assert found["answer"] == "Of the bicycle shed."


def test_the_command_line_helps_with_it_and_completes_it(found):
    assert found["help"]
    sentence = "Of the bicycle shed. Write red or blue. Default: red."
    assert found["completed"] == [[["colour=", sentence]], [["colour=blue", "Of the bicycle shed."]]]


def test_it_is_in_the_docs(found):
    values = ["- Values: red or blue", "- Default: `red`", "- `update` may change it: yes", "- `configure` may change it: yes"]
    assert found["docs"] == ["", "", "Of the bicycle shed.", "", *values]
