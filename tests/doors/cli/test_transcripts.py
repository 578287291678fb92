"""What the commands print, to the column (the table of snapshots is that of Jet's manual)."""

import json
import re
import time
from datetime import datetime

import pytest
import yaml

from pitstop.model.job import JobState, Progress, TableAway
from pitstop.model.operation import Cancel, Export
from pitstop.model.retention import KEPT, USUAL
from pitstop.model.tally import RestartCause, Tally
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, running

JOB = "0401-9f77-b9c0-0001"
SUBMITTED = "2020-03-15T14:37:01.011"
KEEP = [{"name": name, "value": value, "usual": value} for name, value in USUAL.written().items()]
DESCRIBED = f"id={JOB}, name=hello-world, submissionTime={SUBMITTED}"


@pytest.fixture
def artifact(tmp_path):
    def write(text="", name="hello-world.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_long_job_names_are_cut_unless_asked_for(cli, state):
    state.do(running(state, "a-name-of-24-characters-"), Export("b"))
    state.do(running(state, "a-name-of-25-characters--"), Export("a"))
    assert cli("list-snapshots")[1].splitlines()[1:] == [
        "2020-03-15T14:37:01.011 1,196           a-name-of-25-characters* a",
        "2020-03-15T14:37:01.011 1,196           a-name-of-24-characters- b",
    ]
    assert cli("list-snapshots", "-F")[1].splitlines()[1] == (
        "2020-03-15T14:37:01.011 1,196           a-name-of-25-characters-- a"
    )


def test_list_jobs_hides_ended_ones_unless_asked_for(cli, state):
    running(state)
    brought_to(state, JobState.SUSPENDED_EXPORTING_SNAPSHOT, "two")
    brought_to(state, JobState.FAILED, "gone")
    state.put(running(state, "unnamed"), name=None)
    header = "ID                  STATUS             SUBMISSION TIME         NAME\n"
    first = "0401-9f77-b9c0-0001 RUNNING            2020-03-15T14:37:01.011 hello-world\n"
    second = "0401-9f77-b9c0-0002 SUSPENDED_EXPORTING_SNAPSHOT 2020-03-15T14:37:01.011 two\n"
    ended = "0401-9f77-b9c0-0003 CANCELLED          2020-03-15T14:37:01.011 gone\n"
    unnamed = "0401-9f77-b9c0-0004 RUNNING            2020-03-15T14:37:01.011 N/A\n"

    def listed(*options):
        code, out, err = cli("list-jobs", *options)
        head, *lines = out.splitlines(keepends=True)
        assert (code, head, err) == (0, header, "")
        return sorted(lines)  # newest first; these were submitted at the same moment

    assert listed() == [first, second, unnamed]
    assert listed("-a") == listed("--all") == [first, second, ended, unnamed]


def test_submit_tells_what_it_does_and_waits_until_the_job_runs(cli, state, artifact):
    state.do(running(state, "before"), Export("snapshot-v1"))
    path = artifact()
    command = ("submit", "-s", "snapshot-v1", "-n", "hello-world", "-c", "m:f", "-O", "partitions=3")
    assert cli(*command, path, "a", "-s", "--name=x", "-v") == (
        0,
        f"Submitting artifact '{path}' with arguments [a, -s, --name=x, -v]\n"
        "Using job name 'hello-world'\n"
        "Will restore the job from the snapshot with name 'snapshot-v1'\n"
        f"Job id=0401-9f77-b9c0-0002, name=hello-world, submissionTime={SUBMITTED} is RUNNING.\n",
        "",
    )
    job = state.job("hello-world")
    assert (job.source.args, job.source.entry) == (("a", "-s", "--name=x", "-v"), "m:f")
    assert (job.config.partitions, job.config.initial_snapshot) == (3, "snapshot-v1")


def test_submit_sends_only_the_options_that_were_given(cli, state, artifact):
    path = artifact()
    assert cli("submit", path) == (
        0,
        f"Submitting artifact '{path}' with arguments []\nJob {DESCRIBED} is RUNNING.\n",
        "",
    )
    assert state.job("hello-world").options == {}


def test_spark_settings_are_options_of_their_own(cli, state, artifact):
    settings = ["-O", "spark.a.b=1", "-O", "spark.c=x=y", "-O", "processing_guarantee=exactly_once"]
    assert cli("submit", *settings, artifact())[0] == 0
    assert state.job("hello-world").options == {
        "spark": {"spark.a.b": "1", "spark.c": "x=y"},
        "processing_guarantee": "exactly_once",
    }


def test_submit_of_a_bounded_job_is_done_when_that_runs_or_has_completed(cli, state, artifact):
    last = cli("submit", artifact("# completes"))[1].splitlines()[-1]
    assert last in {f"Job {DESCRIBED} is {state}." for state in ("RUNNING", "COMPLETED")}
    assert state.wait_for(JOB, (JobState.COMPLETED,), 20).status is JobState.COMPLETED


def test_submit_of_a_job_that_fails_tells_its_failure(cli, artifact):
    path = artifact("# fails: Stage 'speed': there is no column vin.")
    code, out, err = cli("submit", path)
    assert (code, out) == (1, f"Submitting artifact '{path}' with arguments []\n")
    # To run it again with -v would submit it again.
    message = r"ERROR: Stage 'speed': there is no column vin\.\n\nTo see the full stack trace: pitstop logs (\S+)\n"
    assert cli("logs", re.fullmatch(message, err)[1])[0] == 0
    assert cli("submit", "-v", path)[2] == (
        "ERROR: Stage 'speed': there is no column vin.\n\n"
        "Traceback (most recent call last):\nStage 'speed': there is no column vin.\n"
    )


def test_submit_of_a_job_that_its_failure_suspends_is_an_error(cli, artifact):
    code, _, err = cli("submit", "-O", "suspend_on_failure=true", artifact("# fails: No such column."))
    assert (code, err.splitlines()[0]) == (1, "ERROR: Job 'hello-world' is suspended: No such column.")


@pytest.mark.parametrize(
    ("command", "before", "doing", "done", "after"),
    [
        ("suspend", "RUNNING", "Suspending", "Job suspended.", "SUSPENDED"),
        ("resume", "SUSPENDED", "Resuming", "Job resumed.", "RUNNING"),
        ("restart", "RUNNING", "Restarting", "Job restarted.", "RUNNING"),
        ("cancel", "RUNNING", "Cancelling", "Job cancelled.", "FAILED"),
    ],
)
@pytest.mark.parametrize("asked", ["hello-world", JOB])
def test_a_verb_tells_what_it_does_and_when_it_is_done(cli, state, command, before, doing, done, after, asked):
    brought_to(state, JobState(before))
    assert cli(command, asked) == (0, f"{doing} job {DESCRIBED}...\n{done}\n", "")
    found = state.job(JOB)
    assert found.status.value == after
    assert found.display_status.value == ("CANCELLED" if command == "cancel" else after)


def test_a_cancelled_job_is_shown_as_that_and_one_that_failed_as_that(cli, state):
    brought_to(state, JobState.FAILED)
    broken = running(state, "broken", "# fails: No such column.")
    shown = {name: cli("status", name)[1].splitlines()[2:4] for name in ("hello-world", "broken")}
    assert shown == {
        "hello-world": ["Status:        CANCELLED", "Meaning:       Cancelled by a user."],
        "broken": ["Status:        FAILED", "Meaning:       Ended with an error."],
    }
    told = {job["id"]: (job["status"], job["display_status"]) for job in json.loads(cli("-o", "json", "list-jobs", "-a")[1])}
    assert told == {JOB: ("FAILED", "CANCELLED"), broken: ("FAILED", "FAILED")}


def test_status_tells_restarts_by_cause_and_when_the_last_epoch_was(cli, state):
    running(state)
    state.put(JOB, tally=Tally({RestartCause.LOST: 2, RestartCause.UPDATE: 1}))
    state.advance(JOB, Progress(7, epoch_at=1584283021.011))
    shown = cli("status", JOB)[1].splitlines()
    assert "Restarts:      3 (2 lost, 1 update)" in shown
    assert f"Epoch:         7, committed {SUBMITTED}" in shown
    facts = json.loads(cli("-o", "json", "status", JOB)[1])
    assert (facts["restarts"], facts["progress"]["epoch_at"]) == ({"lost": 2, "update": 1}, SUBMITTED)


@pytest.mark.parametrize(("option", "also", "after"), [((), "", "RUNNING"), (("-C",), " and cancelling the job", "FAILED")])
def test_save_snapshot(cli, state, option, also, after):
    running(state)
    assert cli("save-snapshot", *option, JOB, "snapshot-v1") == (
        0,
        f"Saving snapshot with name 'snapshot-v1' from job 'hello-world'{also}...\nExported snapshot 'snapshot-v1'.\n",
        "",
    )
    assert state.job(JOB).status.value == after
    assert cli("delete-snapshot", "snapshot-v1") == (0, "Deleted snapshot 'snapshot-v1'.\n", "")
    assert state.snapshots() == []


def test_cluster(cli):
    assert cli("cluster") == (
        0,
        "State: ACTIVE\nVersion: 0.1.0\nSize: 1\nLeader: 127.0.0.1:8701\n\n"
        "ADDRESS                  UUID                                 NAME             CORES STATE   JOBS\n"
        "127.0.0.1:8701           6a0c5f4e-0000-4000-8000-000000000001 here             2     ACTIVE\n",
        "",
    )


def test_settings_of_the_server(cli):
    code, out, err = cli("cluster", "settings")
    heads, *rows = out.splitlines()
    assert (code, err, heads.split()) == (0, "", ["SETTING", "VALUE", "USUAL", "MEANING"])
    assert len(rows) == 8
    assert rows[2].split("  ")[0] == "--keep cancelled-time"
    assert "1 day" in rows[2]


def test_members_are_added_and_removed(cli):
    assert cli("cluster", "add-member") == (0, "Member 'member-1' is started and joins by itself.\n", "")
    assert cli("cluster")[1].splitlines()[-1].split()[2:] == ["member-1", "2", "ACTIVE"]
    assert cli("cluster", "remove-member", "member-1") == (0, "Member 'member-1' was asked to leave.\n", "")
    code, out, err = cli("cluster", "remove-member", "here")
    assert (code, out) == (4, "")
    assert "'here' is the last member: jobs would have nothing to run on." in err
    assert cli("cluster", "shutdown")[0] == 0


def test_an_engine_is_restarted_with_its_jobs(cli):
    code, out, err = cli("cluster", "restart-engine", "nothing")
    assert (code, out) == (3, "")
    assert "No engine 'nothing' is up. Engines: shared." in err
    code, out, err = cli("cluster", "restart-engine", "shared")
    assert (code, out, err) == (0, "The new engine 'shared' is up. 2 jobs to move.\n", ""), "jobs that were deleted meanwhile"


def test_a_watermark_that_python_has_no_year_for_is_shown_and_warned_of(cli, state):
    running(state, text="# stage: speed bigint")
    state.advance(JOB, Progress(7, 1_767_225_780_000_000))
    state.do(JOB, Export("s"))
    assert re.fullmatch(
        r"Watermark: {5}\+057971-02-27T02:00:00.000, [\d,]{10} days or more ahead of the clock: rows with earlier times are late",
        cli("status", "hello-world")[1].splitlines()[-1],
    )
    code, out, err = cli("snapshot", "inspect", "s")
    assert code == 0
    assert "Watermark:   +057971-02-27T02:00:00.000" in out.splitlines()
    assert re.match(r"The watermark was [\d,]{10} days or more ahead of the clock: a job that starts from this snapshot", err)
    assert json.loads(cli("-o", "json", "snapshot", "inspect", "s")[1])["watermark"] == "+057971-02-27T02:00:00.000"
    state.do(JOB, Export("t"))
    assert cli("snapshot", "diff", "s", "t")[0] == 0


def test_status_of_a_job_without_an_epoch_tells_no_numbers_of_rows(cli, state):
    """Such as a batch, whose rows nobody counts: zero would be wrong."""
    running(state, initial_snapshot=None)
    lines = cli("status", "hello-world")[1].splitlines()
    assert lines[-1] == "Guarantee:     exactly_once"
    state.advance(JOB, Progress(0, input_rows=2))
    assert cli("status", "hello-world")[1].splitlines()[-2:] == ["Rows read:     2 (0.0 a second)", "Left out:      none"]


def test_status_tells_rows_that_were_left_out_also_of_a_job_that_has_ended(cli, state):
    running(state, initial_snapshot=None)
    stages = {"speed": {"late_rows": 1200, "state_rows": 2}, "visits": {"late_rows": 2}, "sink": {"rows_out": 1}}
    state.advance(JOB, Progress(7, 1584283021011, 1_234_567, 1234.56, 250, 3, stages, parts_ms={"addBatch": 240, "walCommit": 9}))
    assert cli("status", "hello-world")[1].splitlines() == [
        f"ID:            {JOB}",
        "Name:          hello-world",
        "Status:        RUNNING",
        "Meaning:       Epochs are being processed.",
        f"Submitted:     {SUBMITTED}",
        f"Started:       {SUBMITTED}",
        "Guarantee:     exactly_once",
        "Epoch:         7",
        "Rows read:     1,234,567 (1,234.6 a second)",
        "Left out:      1,202 late; 3 counted by an older release",
        f"Watermark:     {SUBMITTED}",
    ]
    cli("cancel", JOB)
    assert state.wait_for(JOB, (JobState.FAILED,), 20).user_cancelled
    assert "Left out:      1,202 late; 3 counted by an older release" in cli("status", JOB)[1].splitlines()


def test_metrics(cli, state):
    running(state, initial_snapshot=None)
    stages = {"speed": {"late_rows": 1200, "state_rows": 2}, "visits": {"late_rows": 2}, "sink": {"rows_out": 1}}
    state.advance(JOB, Progress(7, 1584283021011, 1_234_567, 1234.56, 250, 3, stages, parts_ms={"addBatch": 240, "walCommit": 9}))
    assert cli("metrics", "hello-world")[1].splitlines() == [
        "epoch            7",
        "watermark_ms     1584283021011",
        "input_rows       1234567",
        "rows_per_second  1234.56",
        "epoch_ms         250",
        "bad_rows         3",
        "busy_seconds     0",
        "epoch_at         -",
        "  addBatch       240",
        "  walCommit      9",
        "",
        "STAGE  METRICS",
        "speed  late_rows=1200 state_rows=2",
        "visits late_rows=2",
        "sink   rows_out=1",
    ]


def test_status_tells_the_lag_of_each_source_and_with_v_of_its_parts(cli, state):
    running(state)
    by_part = {"orders:1": 1200, "orders:0": 4}
    orders = {"behind": 1204, "behind_in": "messages", "behind_by_part": by_part, "parts": 2}
    many = {"behind": 3, "behind_in": "messages", "behind_by_part": {"clicks:7": 3, "clicks:0": 0}, "parts": 500}
    stages = {"orders": orders, "clicks": many, "tail": {"behind": 0, "behind_in": "bytes"}}
    state.advance(JOB, Progress(7, stages=stages))

    def lines(*arguments):
        shown = cli(*arguments, "status", "hello-world")[1].splitlines()
        first = next(number for number, line in enumerate(shown) if line.startswith("Not read yet:"))
        last = next(number for number, line in enumerate(shown) if line.startswith("Left out:"))
        return [line[15:] for line in shown[first:last]]

    sums = ["1,204 messages of source 'orders'", "3 messages of source 'clicks'", "0 bytes of source 'tail'"]
    assert lines() == sums
    assert lines("-v") == [sums[0], "  1,200 of orders:1", "  4 of orders:0", sums[1], "  3 of clicks:7", sums[2]]
    assert "orders behind=1204 behind_in=messages parts=2" in cli("metrics", "hello-world")[1].splitlines()
    shown = json.loads(cli("-o", "json", "status", "hello-world")[1])
    assert shown["progress"]["stages"]["orders"]["behind_by_part"] == by_part


def test_status_tells_which_table_of_a_hash_join_cannot_be_read_while_the_job_runs(cli, state):
    running(state, initial_snapshot=None)
    why = "The table of stage 'join' (job.py:7) cannot be read: Path does not exist: file:/dim."
    state.advance(JOB, Progress(7, tables_away=(TableAway("join", 1584283021.011, 1584283000.5, why),)))
    told = "So it is since 2020-03-15T14:37:01.011: rows are joined with what was read at 2020-03-15T14:36:40.500."
    assert f"Table away:    {why} {told}" in cli("status", "hello-world")[1].splitlines()
    assert "tables_away      join" in cli("metrics", "hello-world")[1].splitlines()
    (facts,) = json.loads(cli("-o", "json", "status", "hello-world")[1])["progress"]["tables_away"]
    assert facts == {"stage": "join", "since": "2020-03-15T14:37:01.011", "read_at": "2020-03-15T14:36:40.500", "why": why}
    (facts,) = json.loads(cli("-o", "json", "metrics", "hello-world")[1])["tables_away"]
    assert facts["since"] == "2020-03-15T14:37:01.011"
    state.advance(JOB, Progress(8))
    assert "Table away" not in cli("status", "hello-world")[1]


def test_status_tells_which_source_waits_for_a_folder_while_the_job_runs(cli, state):
    running(state, initial_snapshot=None)
    state.advance(JOB, Progress(7, waits_for={"in": "/in", "more": "/in/more"}))
    lines = cli("status", "hello-world")[1].splitlines()
    first = lines.index("Waiting:       source 'in': folder /in does not exist yet")
    assert lines[first + 1] == "               source 'more': folder /in/more does not exist yet"
    assert "waits_for        /in, /in/more" in cli("metrics", "hello-world")[1].splitlines()
    assert json.loads(cli("-o", "json", "status", "hello-world")[1])["progress"]["waits_for"] == {"in": "/in", "more": "/in/more"}
    state.advance(JOB, Progress(8))
    assert "Waiting" not in cli("status", "hello-world")[1]
    assert "waits_for" not in cli("metrics", "hello-world")[1]


def test_the_history_of_a_job_is_a_line_for_each_second_or_minute(cli, state):
    running(state)
    assert cli("history", JOB) == (0, "TIME  ROWS READ  A SECOND  EPOCH MS  LAG MS  STATE ROWS\n", "")
    before = time.time()
    state.advance(JOB, Progress(7, None, 1_234_567, 1234.56, 250, 3, {"speed": {"state_rows": 2_000}}))
    head, line = cli("history", "hello-world")[1].splitlines()
    assert head.split() == ["TIME", "ROWS", "READ", "A", "SECOND", "EPOCH", "MS", "LAG", "MS", "STATE", "ROWS"]
    at, *figures = line.split()
    assert before - 1 <= datetime.fromisoformat(f"{at}+00:00").timestamp() <= time.time()
    assert figures == ["1,234,567", "250", "2,000"]
    found = json.loads(cli("-o", "json", "history", "--step", "minute", JOB)[1])
    assert (found["step"], [moment[-7:] for moment in found["times"]]) == ("minute", [":00.000"])
    assert found["stages"]["speed"]["state_rows"] == [2000]


def test_the_graph_and_the_options_of_a_job(cli, state):
    running(state)
    lines = cli("graph", JOB)[1].splitlines()
    assert lines[0].split() == ["STAGE", "KIND", "READS", "STATE", "DOES", "DEFINED", "IN"]
    nodes = json.loads(cli("-o", "json", "graph", "hello-world")[1])["nodes"]
    assert [node["name"] for node in nodes] == [line.split()[0] for line in lines[1:]]
    found = {option["name"]: option for option in json.loads(cli("-o", "json", "options", JOB)[1])}
    assert (found["processing_guarantee"]["value"], found["processing_guarantee"]["origin"]) == ("exactly_once", "default")
    assert cli("options", JOB)[1].splitlines()[1].split() == ["processing_guarantee", "exactly_once", "default"]


def test_status_tells_why_a_job_is_not_running(cli, state):
    running(state, text="# fails: No such column.")
    out = cli("-v", "status", JOB)[1]
    assert "Failure:       No such column.\n" in out
    assert out.endswith("\nTraceback (most recent call last):\nNo such column.\n")
    assert "Traceback" not in cli("status", JOB)[1]


def test_status_tells_why_the_last_update_failed(cli, state, artifact):
    running(state)
    code, _, err = cli("update", JOB, artifact("# fails: No such table."))
    reason = "Version 2 of job 'hello-world' failed, so version 1 goes on where it had stopped: No such table."
    assert (code, err.splitlines()[0]) == (1, f"ERROR: {reason}")
    state.wait_for(JOB, (JobState.RUNNING,), 20)
    assert f"Last update:   {reason}" in cli("status", JOB)[1].splitlines()


def test_the_events_of_a_job_are_a_line_each(cli, state):
    running(state)
    state.do(JOB, Cancel())
    up = "NOT_RUNNING -> STARTING (A run is started)", "STARTING -> RUNNING (The run is up)"
    lines = [f"Pitstop: {change}" for change in up] + ["User: RUNNING -> CANCELLED (Cancel)"]
    printed = "".join(f"{SUBMITTED} {line}\n" for line in lines)
    for asked in (("events", JOB), ("events", "hello-world"), ("events", "-f", JOB)):
        assert cli(*asked) == (0, printed, "")
    last = {
        "at": SUBMITTED,
        "previous": "RUNNING",
        "new": "FAILED",
        "reason": "Cancel",
        "user_requested": True,
        "sequence": 3,
        "trace": None,
        "display_previous": "RUNNING",
        "display_new": "CANCELLED",
        "kind": "state",
    }
    assert json.loads(cli("-o", "json", "events", JOB)[1])[-1] == last
    assert yaml.safe_load(cli("-o", "yaml", "events", JOB)[1])[-1] == last
    assert json.loads(cli("-o", "json", "events", "--follow", JOB)[1].splitlines()[-1]) == last


def test_logs_are_printed_whole_and_can_be_searched(cli, state):
    running(state)
    text = "".join(f'{{"level": "INFO", "msg": "line {i}"}}\n' for i in range(2500)) + "not JSON: ä\n"
    state.write_log(JOB, text)
    assert cli("logs", JOB) == (0, "".join(f"INFO  line {i}\n" for i in range(2500)) + "not JSON: ä\n", "")
    assert cli("logs", JOB, "--grep", r"line 24\d\d")[1].count("\n") == 100
    assert cli("logs", JOB, "--grep", "nowhere") == (0, "", "")
    lines = cli("-o", "json", "logs", JOB)[1].splitlines()
    assert [json.loads(line)["msg"] for line in lines[-2:]] == ["line 2499", "not JSON: ä"]
    documents = list(yaml.safe_load_all(cli("-o", "yaml", "logs", JOB, "--grep", 'line 1"|not')[1]))
    assert documents == [{"level": "INFO", "msg": "line 1"}, {"msg": "not JSON: ä"}]


def test_levels_of_loggers_are_shown_and_changed(cli, state):
    running(state)
    assert cli("log-level")[1] == "LOGGER   LEVEL  SET FOR\npitstop  info   usual\nroot     warn   usual\n"
    done = cli("log-level", "pitstop.source.http_poll", "debug", "--job", "hello-world")
    assert done == (0, "Logger pitstop.source.http_poll is set to debug for job hello-world.\n", "")
    assert cli("log-level", "root", "ERROR") == (0, "Logger root is set to error.\n", "")
    shown = [line.split() for line in cli("log-level", "-j", JOB)[1].splitlines()[1:]]
    assert shown == [["pitstop", "info", "usual"], ["pitstop.source.http_poll", "debug", "job"], ["root", "error", "all"]]
    assert json.loads(cli("log-level", "-o", "json")[1])[1] == {"logger": "root", "level": "ERROR", "scope": "all"}
    assert yaml.safe_load(cli("log-level", "root", "usual", "-o", "yaml")[1])[1]["scope"] == "usual"
    assert cli("log-level", "root")[2].startswith("ERROR: Give a level for root, or no logger to see all levels.\n")


def test_following_an_ended_job_prints_all_and_ends(cli, state):
    running(state, text="# completes")
    state.write_log(JOB, "a\nb\n")
    assert cli("logs", "-f", JOB) == (0, "a\nb\n", "")


def test_check_prints_the_report_and_its_exit_code_is_the_verdict(cli, state, artifact):
    running(state, text="# stage: speed bigint")
    state.do(JOB, Export("snapshot-v1"))
    fits = artifact("# stage: speed bigint\n# stage: more double", "v2.py")
    code, out, err = cli("check", fits, "a", "--rate", "5", "-j", "hello-world")
    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()] == [["source", "restored"], ["speed", "restored"], ["more", "new"]]
    refused = artifact("# stage: speed double", "v3.py")
    code, out, _ = cli("check", "-s", "snapshot-v1", refused)
    assert (code, out.splitlines()[1].split()[:2]) == (1, ["speed", "refused"])
    code, out, _ = cli("-o", "json", "check", "-s", "snapshot-v1", refused)
    assert (code, json.loads(out)["report"]["refused"]) == (1, True)
    assert cli("check", refused) == (0, "The pipeline is sound; nothing to compare with. Stages: source, speed.\n", "")


TWO, ONE = "# stage: speed bigint\n# stage: old double", "# stage: speed bigint"
REFUSED = (
    "ERROR: The new version would drop what job 'hello-world' has saved of stage 'old'. The job goes on as it was: if that is "
    "meant, say --allow-drop=old (option allow_drop, in SQL allowDrop).\n"
)


def test_an_update_that_drops_state_wants_allow_drop_alone_or_with_names_before_the_job(cli, state, artifact):
    running(state, text=TWO)
    one = artifact(ONE, "one.py")
    code, out, _ = cli("check", "-j", JOB, one)
    assert (code, out.splitlines()[-1].startswith("An update that would drop stage 'old' is refused: ")) == (1, True)
    code, _, err = cli("update", JOB, one)
    assert (code, REFUSED in err) == (4, True)
    # Behind the artifact it is the job's.
    assert cli("update", JOB, one, "--allow-drop")[0] == 4
    assert cli("update", "--allow-drop=speed", JOB, one)[0] == 4
    code, out, _ = cli("update", "--allow-drop=old,speed", JOB, one)
    assert (code, "Version 2 runs" in out) == (0, True)
    assert cli("update", JOB, artifact("", "none.py"))[0] == 4
    assert cli("update", "--allow-drop", JOB, artifact("", "none.py"))[0] == 0


def test_seek_is_an_option_of_one_start_with_a_place_for_each_source(cli, state, artifact):
    running(state)
    places = ("--seek", "orders=2026-11-01T00:00", "--seek", "clicks=clicks:0=12,clicks:1=4")
    assert cli("update", *places, JOB, artifact("", "two.py"))[0] == 0
    options = {option.name: option.value for option in state.options(JOB)}
    assert options["seek"] == {"orders": "2026-11-01T00:00", "clicks": "clicks:0=12,clicks:1=4"}
    assert cli("update", JOB, artifact("", "three.py"))[0] == 0
    assert {option.name: option.value for option in state.options(JOB)}["seek"] == {}
    for wrong in ("orders", "=latest", "orders="):
        code, _, err = cli("update", "--seek", wrong, JOB, artifact("", "four.py"))
        assert (code, "The job option 'seek' is a source and its place, such as orders=2026-11-01T00:00" in err) == (2, True)
    code, _, err = cli("update", "--seek", "a=latest", "--seek", "a=earliest", JOB, artifact("", "four.py"))
    assert (code, "Source 'a' is put to two places: give --seek a=PLACE once." in err) == (2, True)
    code, _, err = cli("submit", "--seek", "orders=latest", artifact("", "five.py"))
    assert (code, "a job without a snapshot has none" in err) == (2, True)


def test_going_back_puts_a_source_to_another_place_only_with_a_version(cli, state, artifact):
    running(state, text=ONE)
    assert cli("update", JOB, artifact(ONE, "two.py"))[0] == 0
    code, _, err = cli("rollback", "--seek", "orders=latest", JOB)
    assert (code, "belong to an update: give --to VERSION" in err) == (2, True)
    assert cli("rollback", "--to", "1", "--seek", "orders=latest", JOB)[0] == 0
    assert {option.name: option.value for option in state.options(JOB)}["seek"] == {"orders": "latest"}


def test_check_counts_what_may_be_dropped(cli, state, artifact):
    running(state, text=TWO)
    code, out, _ = cli("check", "-j", JOB, artifact(ONE), "--allow-drop")
    assert (code, "is refused" in out) == (0, False)


def test_going_back_alone_drops_nothing(cli, state):
    running(state)
    code, _, err = cli("rollback", "--allow-drop", JOB)
    assert (code, "belong to an update: give --to VERSION" in err) == (2, True)


INTO_MAP = "# sink: out\n# into: the map 'm'"


def test_two_jobs_write_into_one_map_only_with_allow_shared(cli, state, artifact):
    running(state, text=INTO_MAP)
    code, _, err = cli("submit", "-n", "second", artifact(INTO_MAP))
    assert (code, "writes into the map 'm', as job 'hello-world'" in err) == (1, True)
    code, out, _ = cli("submit", "-n", "third", "--allow-shared", artifact(INTO_MAP))
    assert (code, "is RUNNING" in out) == (0, True)
    assert cli("submit", "-n", "fourth", artifact("# sink: out"))[0] == 0
    code, _, err = cli("rollback", "--allow-shared", "fourth")
    assert (code, "belong to an update: give --to VERSION" in err) == (2, True)


@pytest.mark.parametrize("output", ["json", "yaml"])
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("list-jobs",), [{"id": JOB, "name": "hello-world", "status": "RUNNING", "submission_time": SUBMITTED}]),
        (("status", JOB), {"id": JOB, "failure": None, "config": None, "progress": None}),
        (("metrics", JOB), {"epoch": -1, "stages": {}}),
        (("list-snapshots",), [{"name": "s", "bytes": 1196, "job_name": "hello-world", "created": SUBMITTED}]),
        (("save-snapshot", JOB, "s"), {"name": "s", "bytes": 1196}),
        (("suspend", JOB), {"status": "SUSPENDED", "suspension_cause": "Requested by user"}),
        (("restart", JOB), {"status": "RUNNING"}),
        (("cancel", JOB), {"status": "FAILED", "user_cancelled": True}),
        (("cluster",), {"state": "ACTIVE", "size": 1}),
        (("cluster", "settings"), {"keep": [told | {"meaning": kept.meaning} for told, kept in zip(KEEP, KEPT, strict=True)]}),
        (("map", "list"), [{"name": "m", "size": 1}]),
        (("map", "get", "m", "ä"), {"x": "ö"}),
        (("map", "size", "m"), {"size": 1}),
        (("map", "entries", "m"), [{"key": "ä", "value": {"x": "ö"}}]),
        (
            ("map", "journal", "m"),
            [{"sequence": 1, "kind": "ADDED", "old_value": None, "new_value": {"x": "ö"}, "at": SUBMITTED}],
        ),
    ],
)
def test_structured_output_is_data_and_nothing_else(cli, state, output, command, expected):
    running(state)
    state.do(JOB, Export("s"))
    state.map_put("m", {"ä": '{"x": "ö"}'})
    code, out, _ = cli(*command, "--output", output)
    found = json.loads(out) if output == "json" else yaml.safe_load(out)
    assert code == 0
    for part, wanted in (
        zip([found], [expected], strict=True) if isinstance(expected, dict) else zip(found, expected, strict=True)
    ):
        for key, value in wanted.items():
            assert key in part
            if value is not None or key in ("failure", "old_value"):
                assert part[key] == value


def test_with_structured_output_progress_goes_beside_it(cli, artifact):
    path = artifact()
    code, out, err = cli("-o", "json", "submit", path)
    assert (code, json.loads(out)["status"]) == (0, "RUNNING")
    assert err == f"Submitting artifact '{path}' with arguments []\nJob {DESCRIBED} is RUNNING.\n"


def test_global_options_may_stand_before_or_after_the_command(bare, url, state, token_file):
    running(state)
    file = token_file(TOKEN)
    before = bare("--url", url, "--token-file", file, "-o", "json", "list-jobs")
    after = bare("list-jobs", "-t", url, "--token-file", file, "--output", "json")
    host = bare("-t", url.removeprefix("http://"), "list-jobs", "--token-file", file, "-o", "json")
    assert before == after == host
    assert json.loads(before[1])[0]["id"] == JOB


def test_a_job_that_is_not_waited_for_any_more_goes_on(cli, state, artifact, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("pitstop.client.watching.job_in", interrupted)
    code, out, _ = cli("submit", artifact())
    assert (code, out.splitlines()[-1]) == (130, f"Not waiting any more; job {JOB} goes on by itself.")
    assert state.wait_for(JOB, (JobState.RUNNING,), 20).name == "hello-world"
