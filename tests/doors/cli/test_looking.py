"""Commands that look into the run of a job."""

import json

from pitstop.model.operation import Suspend
from tests.doors.doors import running

STAGES = "# stage: speed bigint\n# stage: silent bigint"


def test_tasks_tell_the_skew_of_each_stage_and_the_slowest_partition(cli, state):
    running(state, text=STAGES)
    # Of the tasks of tests.doubles.runs: 10, 400 and 20 ms, with 5, 95 and 7 rows.
    assert cli("tasks", "hello-world") == (
        0,
        "EPOCH  STAGE  TASKS  RUNNING  FASTEST MS  MEDIAN MS  SLOWEST MS  SKEW  SLOWEST PARTITION  ITS ROWS  STEPS\n"
        "    3      7      3        0          10         20         400  20.0                  1        95  Exchange, StateStoreSave\n",
        "",
    )


def test_tasks_with_v_tell_the_plan_and_the_stages_of_its_operators(cli, state):
    running(state, text=STAGES)
    out = cli("tasks", "-v", "hello-world")[1]
    assert out.partition("\n\n")[2] == (
        "== Physical Plan ==\nStateStoreSave [k], opId = 0\n\nOPERATOR  STAGE   ROLE\nopId = 0  speed   frames\nopId = 1  silent  frames\n"
    )


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
    assert (code, out) == (7, "") and "Stage 'silent' has given no row in 2 seconds" in err
    code, _, err = cli("peek", "hello-world", "sped")
    assert code == 3 and "There are: " in err
    state.do(job, Suspend())
    code, _, err = cli("tasks", "hello-world")
    assert code == 4 and "only a RUNNING job can be looked into" in err


def test_numbers_out_of_bounds_are_wrong_usage(cli, state):
    running(state, text=STAGES)
    for arguments in (("tasks", "-n", "51"), ("peek", "hello-world", "speed", "-n", "201"), ("peek", "hello-world", "speed", "--wait", "61")):
        assert cli(*arguments, "hello-world")[0] == 2
