"""``pitstop sql``: statements on jobs and snapshots, and what they print."""

import io
import json

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from pitstop.cli import sql as sql_command
from pitstop.cli.context import Call
from pitstop.cli.sql_shell import StatementCompleter
from pitstop.model.job import JobState
from pitstop.model.operation import Export
from pitstop.service.sql_results import Column, Result
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, running


@pytest.fixture
def sql(cli):
    """Carry out statements: (exit code, standard output, standard error)."""
    return lambda text, *options: cli("sql", "-e", text, *options)


def states(state):
    return {job.name: job.status for job in state.jobs(include_ended=True)}


@pytest.mark.long
def test_the_manuals_statement_ends_a_job_at_a_snapshot(sql, state):
    running(state)
    assert sql('DROP JOB IF EXISTS "hello-world" WITH SNAPSHOT "snapshot-v1";') == (0, "OK\n", "")
    assert states(state)["hello-world"].terminal
    assert [each.name for each in state.snapshots()] == ["snapshot-v1"]


def test_jobs_are_shown_by_name_without_those_that_have_ended(sql, state):
    running(state, "second")
    brought_to(state, JobState.SUSPENDED, "first")
    brought_to(state, JobState.FAILED, "gone")
    assert sql("SHOW JOBS")[1] == "+--------+\n| name   |\n+--------+\n| first  |\n| second |\n+--------+\n2 row(s) selected\n"
    assert json.loads(sql("SHOW JOBS", "-o", "json")[1]) == [{"name": "first"}, {"name": "second"}]
    assert sql("SHOW JOBS", "-o", "yaml")[1] == "- name: first\n- name: second\n"
    assert sql("SHOW JOBS", "-o", "csv")[1] == "name\nfirst\nsecond\n"


def test_a_job_that_a_user_cancelled_is_described_as_that(sql, state):
    brought_to(state, JobState.FAILED, "gone")
    facts = {fact["property"]: fact["value"] for fact in json.loads(sql("DESCRIBE JOB gone", "-o", "json")[1])}
    assert (facts["status"], facts["failure"]) == ("CANCELLED", "Cancelled by user")


def test_snapshots_are_made_shown_and_dropped(sql, state):
    running(state)
    assert sql('CREATE OR REPLACE SNAPSHOT before FOR JOB "hello-world"')[:2] == (0, "OK\n")
    shown = sql("SHOW SNAPSHOTS")[1].splitlines()
    assert shown[1].split("|")[1:-1][:2] == [" name   ", " job         "]
    assert shown[3].startswith("| before | hello-world | 2020-03-15T14:37:01.011+00:00 |")
    assert states(state)["hello-world"] is JobState.RUNNING
    assert sql("DROP SNAPSHOT before; DROP SNAPSHOT IF EXISTS before")[:2] == (0, "OK\nOK\n")
    assert state.snapshots() == []


def test_a_job_is_suspended_configured_and_resumed(sql, state):
    running(state)
    assert sql('ALTER JOB "hello-world" SUSPEND')[1] == "OK\n"
    assert states(state)["hello-world"] is JobState.SUSPENDED
    assert sql("ALTER JOB \"hello-world\" OPTIONS ('snapshotIntervalMillis'='250') RESUME")[1] == "OK\n"
    assert state.job("hello-world").config.snapshot_interval_ms == 250
    assert states(state)["hello-world"] is not JobState.SUSPENDED


def test_options_are_taken_back(sql, state):
    running(state, options={"timeout": "1 hour", "max_accumulated_records": 100})
    limits = "'timeoutMillis'='-1', 'maxProcessorAccumulatedRecords'='-1'"
    assert sql(f'ALTER JOB "hello-world" SUSPEND; ALTER JOB "hello-world" OPTIONS ({limits}) RESUME')[:2] == (0, "OK\nOK\n")
    config = state.job("hello-world").config
    assert (config.timeout_ms, config.max_accumulated_records) == (None, None)
    assert state.wait_for("hello-world", (JobState.RUNNING,), 20).config == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ALTER JOB nobody SUSPEND", "The job 'nobody' doesn't exist"),
        ("DROP JOB nobody", "Job doesn't exist: nobody"),
        ("DROP JOB gone", "Job already terminated: gone"),
        ("ALTER JOB gone RESTART", "because it already has a result"),
        ("CREATE OR REPLACE SNAPSHOT s FOR JOB nobody", "The job 'nobody' doesn't exist"),
        ("DROP SNAPSHOT nothing", "The snapshot doesn't exist: nothing"),
        ("ALTER JOB idle SUSPEND", "Cannot SUSPEND, job status is SUSPENDED, should be RUNNING"),
        ("ALTER JOB idle OPTIONS ('autoScaling'='perhaps')", "perhaps"),
        (
            "DROP JOBS x",
            "column 9: Encountered 'JOBS', expected EXTERNAL or JOB or MAPPING or SNAPSHOT or VIEW",
        ),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(sql, state, text, message):
    brought_to(state, JobState.FAILED, "gone")
    brought_to(state, JobState.SUSPENDED, "idle")
    code, out, err = sql(text)
    absent, wrong = "doesn't exist" in err, "perhaps" in err or "Encountered" in err
    assert (code, out) == (3 if absent else 2 if wrong else 4, "")
    assert message in err
    assert "Traceback" not in err


def test_what_is_not_there_may_be_dropped_if_one_says_so(sql, state):
    brought_to(state, JobState.FAILED, "gone")
    assert sql("DROP JOB IF EXISTS nobody; DROP JOB IF EXISTS gone WITH SNAPSHOT s")[:2] == (0, "OK\nOK\n")
    assert state.snapshots() == []


def test_nothing_is_done_if_a_later_statement_cannot_be_read(sql, state):
    running(state)
    assert sql('DROP JOB "hello-world"; DROP JIB x')[0] == 2
    assert states(state)["hello-world"] is JobState.RUNNING


def test_statements_come_from_a_file_or_a_pipe(cli, state, tmp_path, monkeypatch):
    running(state)
    file = tmp_path / "statements.sql"
    file.write_text("-- all of them\nSHOW JOBS;\n")
    assert cli("sql", "-f", file, "-o", "csv")[1] == "name\nhello-world\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfSHOW JOBS;")))
    assert cli("sql", "-o", "csv")[1] == "name\nhello-world\n"
    assert "cannot be read" in cli("sql", "-f", tmp_path / "none.sql")[2]
    assert "not from both at once" in cli("sql", "-f", file, "-e", "SHOW JOBS")[2]


@pytest.fixture
def typed(cli, monkeypatch, tmp_path):
    """What the shell prints when these keys are pressed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(sql_command, "is_a_terminal", lambda: True)

    def press(keys):
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
            keyboard.send_text(keys)
            return cli("sql")

    return press


def test_the_shell_takes_statements_over_several_lines_until_one_leaves(typed, state):
    running(state)
    code, out, err = typed("SHOW\nJOBS\n;\nexit\n")
    assert code == 0
    assert out.splitlines()[0].startswith("Connected to Pitstop ")
    assert "| hello-world |" in out
    assert out.splitlines()[-1] == "Exiting from SQL console"
    assert err == ""


def test_the_shell_goes_on_after_an_error_and_knows_what_was_typed(typed, state):
    code, out, err = typed("DROP JOB nobody;\nhelp\nhistory\n\x04")
    assert code == 0
    assert "Job doesn't exist: nobody" in err
    assert "Statements end at a semicolon" in out
    assert "DROP JOB nobody;" in out


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ('DROP JOB "he', ['"hello-world"']),
        ("drop job ", ['"hello-world"', "counts", "IF EXISTS"]),
        ("DROP JOB counts WITH SNAPSHOT be", ["before"]),
        ("SHO", ["SHOW"]),
        ("SELECT COUNT(*) FROM x WHE", ["WHEN", "WHERE"]),
        ("SELECT * FROM TABLE(TUM", ["TUMBLE("]),
        ("ALTER JOB counts SUS", ["SUSPEND"]),
    ],
)
def test_words_jobs_and_snapshots_are_completed(url, state, monkeypatch, typed, words):
    monkeypatch.setenv("PITSTOP_TOKEN", TOKEN)
    running(state)
    state.do(running(state, "counts"), Export("before"))
    completer = StatementCompleter(Call(url))
    assert sorted(each.text for each in completer.get_completions(Document(typed), CompleteEvent())) == sorted(words)


def test_nothing_is_completed_and_nothing_fails_while_the_server_is_away():
    completer = StatementCompleter(Call("http://127.0.0.1:9"))
    assert "EXISTS" in {each.text for each in completer.get_completions(Document("DROP JOB "), CompleteEvent())}


def test_mappings_views_and_columns_are_completed(url, state, monkeypatch):
    monkeypatch.setenv("PITSTOP_TOKEN", TOKEN)
    list(state.sql('CREATE MAPPING numbers TYPE Rate; CREATE MAPPING "all of it" TYPE Log; CREATE VIEW n AS SELECT 1'))
    completer = StatementCompleter(Call(url))
    found = {each.text for each in completer.get_completions(Document("SELECT * FROM "), CompleteEvent())}
    assert found == {"numbers", '"all of it"', "n", "TABLE("}


def test_the_shell_tells_of_mappings_and_views(typed, state):
    list(state.sql("CREATE MAPPING numbers TYPE Rate; CREATE VIEW n AS SELECT 1"))
    out = typed("\\d\nexit\n")[1]
    assert "| numbers |" in out
    assert "| n    |" in out


def stream():
    """Rows of which the last one is waited for until somebody presses Control-C."""
    yield [("a", 1, True, ["x", None]), ("a word of more than twenty letters", None, False, None)]
    raise KeyboardInterrupt


STREAM = (Column("name", "STRING"), Column("n", "INT"), Column("on", "BOOLEAN"), Column("codes", "ARRAY<STRING>"))


def test_the_rows_of_a_stream_are_printed_as_they_come_until_control_c(capsys):
    sql_command.show_as(sql_command.Shown.TABLE, Call("here"))(Result(STREAM, stream(), endless=True))
    assert capsys.readouterr().out.splitlines() == [
        "+----------------------+--------------+-------+----------------------+",
        "| name                 |            n | on    | codes                |",
        "+----------------------+--------------+-------+----------------------+",
        '| a                    |            1 | true  | ["x", null]          |',
        "| a word of more than… |         NULL | false | NULL                 |",
        "+----------------------+--------------+-------+----------------------+",
        "2 row(s) selected",
    ]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (sql_command.Shown.CSV, 'name,n,on,codes\na,1,true,"[""x"", null]"\na word of more than twenty letters,,false,\n'),
        (
            sql_command.Shown.JSON,
            '{"name": "a", "n": 1, "on": true, "codes": ["x", null]}\n'
            '{"name": "a word of more than twenty letters", "n": null, "on": false, "codes": null}\n',
        ),
    ],
)
def test_programs_get_the_rows_of_a_stream_line_by_line(capsys, shown, text):
    with pytest.raises(KeyboardInterrupt):
        sql_command.show_as(shown, Call("here"))(Result(STREAM, stream(), endless=True))
    assert capsys.readouterr().out == text
