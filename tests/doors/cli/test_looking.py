"""Commands that look into the run of a job."""

import json
import re

import pytest

from pitstop.model.operation import Suspend
from tests.doors.doors import running

STAGES = "# stage: speed bigint\n# stage: silent bigint"


def test_tasks_tell_the_skew_of_each_stage_and_the_slowest_partition(cli, state):
    running(state, text=STAGES)
    # Of the tasks of tests.doubles.runs: 10, 400 and 20 ms, with 5, 95 and 7 rows.
    code, out, err = cli("tasks", "hello-world")
    assert (code, err) == (0, "")
    assert [re.split(r" {2,}", line.strip()) for line in out.splitlines()] == [
        [
            "EPOCH",
            "STAGE",
            "TASKS",
            "RUNNING",
            "FASTEST MS",
            "MEDIAN MS",
            "SLOWEST MS",
            "SKEW",
            "SLOWEST PARTITION",
            "ITS ROWS",
            "STEPS",
        ],
        ["3", "7", "3", "0", "10", "20", "400", "20.0", "1", "95", "Exchange, StateStoreSave"],
    ]


def test_tasks_with_v_tell_the_plan_and_the_stages_of_its_operators(cli, state):
    running(state, text=STAGES)
    out = cli("tasks", "-v", "hello-world")[1]
    assert out.partition("\n\n")[2].splitlines() == [
        "== Physical Plan ==",
        "StateStoreSave [k], opId = 0",
        "",
        "OPERATOR  STAGE   ROLE",
        "opId = 0  speed   frames",
        "opId = 1  silent  frames",
    ]


def test_tasks_as_json_are_what_python_and_http_give(cli, state):
    running(state, text=STAGES)
    facts = json.loads(cli("tasks", "-o", "json", "hello-world")[1])
    assert facts["epochs"][0]["stages"][0]["slowest_partition"] == 1
    assert facts["peekable"] == ["speed", "silent"]


def test_peek_prints_rows_and_says_that_there_are_more(cli, state):
    running(state, text=STAGES)
    assert cli("peek", "-n", "2", "hello-world", "speed") == (
        0,
        "n\n0\n1\n",
        "The epoch has more than 2 rows of speed.\n",
    )
    assert json.loads(cli("peek", "-n", "1", "-o", "json", "hello-world", "speed")[1]) == [{"n": 0}]


def test_peek_at_a_silent_or_unknown_stage_and_at_a_suspended_job_says_why(cli, state):
    job = running(state, text=STAGES)
    code, out, err = cli("peek", "--wait", "2", "hello-world", "silent")
    assert (code, out) == (7, "")
    assert "Stage 'silent' has given no row in 2 seconds" in err
    code, _, err = cli("peek", "hello-world", "sped")
    assert code == 3
    assert "There are: " in err
    state.do(job, Suspend())
    code, _, err = cli("tasks", "hello-world")
    assert code == 4
    assert "only a RUNNING job can be looked into" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("tasks", "-n", "51", "hello-world"),
        ("peek", "-n", "201", "hello-world", "speed"),
        ("peek", "--wait", "61", "hello-world", "speed"),
    ],
)
def test_numbers_out_of_bounds_are_wrong_usage(cli, state, arguments):
    running(state, text=STAGES)
    assert cli(*arguments)[0] == 2
