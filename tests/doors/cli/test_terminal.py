"""Control codes that stand in data reach no terminal."""

import json

import pytest

from pitstop.kit.plain_text import in_one_line, shown
from pitstop.model.job import JobState
from pitstop.model.job_event import StateChange
from tests.doors.doors import running

ESCAPES = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\x7f\u202e\x00"
SAFE = "\\u001b]0;owned\\u0007\\u001b[2J\\u000d\\u009b31m\\u007f\\u202e\\u0000"


def test_control_codes_are_written_as_json_writes_them():
    assert shown(ESCAPES) == SAFE
    assert json.loads(f'"{SAFE}"') == ESCAPES


def test_text_in_any_language_is_left_as_it_is():
    text = "ä € 😀 日本 עברית\n\tß"
    assert shown(text) == text
    assert in_one_line("a\nb\tc") == "a\\nb\\tc"


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize(
    "command",
    [("map", "entries", "m"), ("map", "journal", "m"), ("map", "get", "m", "k" + ESCAPES.replace("\0", "")), ("logs", "speeds"),
     ("events", "speeds"), ("status", "speeds"), ("metrics", "speeds"), ("map", "get", "m", "none\x1b[2J")],
)  # fmt: skip
def test_no_command_prints_them(cli, state, command, output):
    job = running(state, "speeds")
    key = "k" + ESCAPES.replace("\0", "")
    state.map_put("m", {key: json.dumps(ESCAPES, ensure_ascii=False)})
    state.write_log(job, f"{ESCAPES}\n")
    state.put(job, update_failure=ESCAPES)
    state.registry.add_event(job, StateChange(0.0, JobState.RUNNING, JobState.FAILED, ESCAPES, False))
    _, out, err = cli("-o", output, *command)
    assert [hex(ord(sign)) for sign in out + err if sign not in "\n\t" and (ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0)] == []
    assert "\u202e" not in out


def test_structured_output_is_the_same_value_again(cli, state):
    state.map_put("m", {"k": json.dumps(ESCAPES)})
    code, out, _ = cli("-o", "json", "map", "get", "m", "k")
    assert (code, json.loads(out)) == (0, ESCAPES)


def test_a_reason_makes_no_line_of_its_own(cli, state):
    job = running(state)
    state.registry.add_event(job, StateChange(0.0, JobState.RUNNING, JobState.FAILED, "a\nb", False))
    assert cli("events", job)[1].splitlines()[2:] == ["1970-01-01T00:00:00.000 Pitstop: RUNNING -> FAILED (a\\nb)"]


def test_a_key_makes_no_line_of_its_own(cli, state):
    state.map_put("m", {"a\nb\tc": "1"})
    assert cli("map", "entries", "m")[1] == "a\\nb\\tc\t1\n"
