"""Every error is one sentence on standard error, and its exit code is that of its kind."""

import os

import pytest

from pitstop.main.commands import commands
from pitstop.model.job import JobState
from tests.doors.doors import brought_to, running
from tests.ports import free_port

HINT = "\n\nTo see the full stack trace, re-run with the -v/--verbosity option\n"
NAMES = "use letters, digits, '_', '.', '-' and blanks, starting with a letter or digit, 200 characters at most."
JOB = "0401-9f77-b9c0-0001"
USAGE, NOT_FOUND, REFUSED, DENIED, AWAY = 2, 3, 4, 5, 6
"""Exit codes, as docs/cli.md lists them."""


def code_of(sentence):
    """The exit code that a sentence deserves by what it says."""
    if sentence.startswith(("No job", "Didn't find", "Map 'm' has no", "There is no map")):
        return NOT_FOUND
    return REFUSED if sentence.startswith("Another active job") else USAGE


NOMAP = "There is no map 'nomap'. There are: none. The map of a job is there once the job has written into it."


@pytest.mark.parametrize("verb", ["suspend", "resume", "restart", "cancel", "status", "metrics", "logs", "events"])
def test_an_unknown_job(cli, verb):
    assert cli(verb, "nosuch") == (NOT_FOUND, "", f"ERROR: No job with name or id 'nosuch' was found{HINT}")


def test_an_unknown_job_whose_name_is_close_to_that_of_a_job(cli, state):
    running(state, "payments")
    sentence = "No job with name or id 'paymnts' was found. Did you mean 'payments'?"
    assert cli("status", "paymnts") == (NOT_FOUND, "", f"ERROR: {sentence}{HINT}")


@pytest.mark.parametrize(
    ("arguments", "state_name", "sentence"),
    [
        (("suspend", "x"), "SUSPENDED", "Job 'x' is not running. Current state: SUSPENDED"),
        (("suspend", "x"), "FAILED", "Job 'x' is not running. Current state: CANCELLED"),
        (("restart", "x"), "NOT_RUNNING", "Job 'x' is not running. Current state: NOT_RUNNING"),
        (("resume", "x"), "RUNNING", "Job 'x' is not suspended. Current state: RUNNING"),
        (("cancel", "x"), "COMPLETED", "Job 'x' is not active. Current state: COMPLETED"),
        (("cancel", JOB), "FAILED", f"Job '{JOB}' is not active. Current state: CANCELLED"),
        (("save-snapshot", "-C", "x", "s"), "FAILED", "Job 'x' is not active. Current state: CANCELLED"),
        (("save-snapshot", "-C", "x", "s"), "COMPLETED", "Job 'x' is not active. Current state: COMPLETED"),
    ],
)
def test_what_the_state_of_a_job_forbids_is_refused_before_anything_is_said(cli, state, arguments, state_name, sentence):
    brought_to(state, JobState(state_name), "x")
    assert cli(*arguments) == (REFUSED, "", f"ERROR: {sentence}{HINT}")
    assert state.job(JOB).status.value == state_name


@pytest.mark.parametrize(
    ("arguments", "state_name", "sentence"),
    [
        (("save-snapshot", "x", "s"), "STARTING", "Cannot EXPORT, job status is STARTING, should be RUNNING or SUSPENDED"),
        (("cancel", "x"), "SUSPENDED_EXPORTING_SNAPSHOT", "Cannot cancel when job status is SUSPENDED_EXPORTING_SNAPSHOT"),
    ],
)
def test_what_the_server_forbids_is_told_in_its_words(cli, state, arguments, state_name, sentence):
    brought_to(state, JobState(state_name), "x")
    code, _, err = cli(*arguments)
    assert (code, err) == (REFUSED, f"ERROR: {sentence}{HINT}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("delete-snapshot", "nosuch"), "Didn't find a snapshot named 'nosuch'"),
        (("submit", "-s", "nosuch", "ARTIFACT"), "Didn't find a snapshot named 'nosuch'"),
        (("submit", "/no/such.py"), "File /no/such.py could not be found."),
        (("submit", "-n", "x", "ARTIFACT"), f"Another active job with equal name (x) exists: {JOB}"),
        (("submit", "-O", "partitions", "ARTIFACT"), "-O takes key=value, not 'partitions'."),
        (("submit", "-O", "a=1", "-O", "a=2", "ARTIFACT"), "Option 'a' specified more than once"),
        (("submit", "-O", "spark.a=1", "-O", "spark.a=2", "ARTIFACT"), "Option 'spark.a' specified more than once"),
        (("submit", "-O", "partitions=many", "ARTIFACT"), "Invalid number for partitions: many"),
        (
            ("submit", "-O", "spark=[1", "ARTIFACT"),
            "-O spark takes settings as a JSON object, not '[1'; or write -O spark.some.setting=value.",
        ),
        (
            ("check", "ARTIFACT", "-j", "x", "-s", "y"),
            "A version is compared with a job (-j) or with a snapshot (-s), not with both at once.",
        ),
        (("check", "ARTIFACT", "-j", "nosuch"), "No job with name or id 'nosuch' was found"),
        (("check", "ARTIFACT", "-s", "nosuch"), "Didn't find a snapshot named 'nosuch'"),
        (("map", "get", "m", "k"), "Map 'm' has no entry 'k'."),
        (("map", "entries", "nomap"), NOMAP),
        (("map", "entries", "nomap", "--where", "speed > 3"), NOMAP),
        (("map", "size", "nomap"), NOMAP),
        (("map", "journal", "nomap"), NOMAP),
        (("submit", "-n", "", "ARTIFACT"), f"'' cannot name a job: {NAMES}"),
        (("map", "delete", "m", "k"), "Map 'm' has no entry 'k'."),
        (("serve", "--token-file", "/no/such"), "The token file /no/such cannot be read: No such file or directory."),
        (("list-jobs", "--token-file", "/no/such"), "The token file /no/such cannot be read: No such file or directory."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(cli, state, tmp_path, arguments, sentence):
    running(state, "x")
    path = tmp_path / "job.py"
    path.touch()
    code, _, err = cli(*(str(path) if word == "ARTIFACT" else word for word in arguments))
    assert (code, err) == (code_of(sentence), f"ERROR: {sentence}{HINT}")


@pytest.mark.parametrize("condition", ["speed >> 3", "speed => 3", "speed <> 3", "speed == 3"])
def test_a_condition_with_two_signs_is_refused(cli, condition):
    assert cli("map", "put", "m", "k", '{"speed": 4}')[0] == 0
    code, out, err = cli("map", "entries", "m", "--where", condition)
    assert (code, out) == (USAGE, "")
    assert err.startswith(f"ERROR: The condition {condition!r} cannot be read: write a field, a sign (=")


def test_a_condition_on_a_field_that_no_entry_has_is_warned_of(cli):
    assert cli("map", "entries", "empty", "--where", "nofield > 3")[0] == NOT_FOUND
    for key, value in (("k", '{"speed": 4, "at": {"x": 1}}'), ("l", "5")):
        assert cli("map", "put", "m", key, value)[0] == 0
    told = "No entry of map 'm' has the field '{}'. The value of 'k' has the fields speed, at.\n"
    for condition, field in (("nofield > 3", "nofield"), ("at.y = 3", "at.y"), ("speed.x contains a", "speed.x")):
        code, out, err = cli("map", "entries", "m", "--where", condition)
        assert (code, out) == (0, "")
        assert err.endswith(told.format(field))
    for condition in ("speed > 5", "at.x = 2", "> 5", "speed != 4"):
        assert cli("map", "entries", "m", "--where", condition) == (0, "", ""), condition
    code, out, err = cli("map", "entries", "m", "--prefix", "l", "--where", "speed > 3")
    assert (code, out) == (0, "")
    assert err.endswith("No entry of map 'm' has the field 'speed'. The value of 'l' has no fields.\n")


@pytest.mark.parametrize("value", ['{"a":', "[1, 2", '"a', '{"a": nan}'])
def test_a_value_that_begins_like_json_and_is_none_is_refused(cli, value):
    code, out, err = cli("map", "put", "m", "k", value)
    assert (code, out) == (USAGE, "")
    assert err.startswith("ERROR: The value begins like JSON and is not JSON (")
    assert cli("map", "get", "m", "k")[0] == NOT_FOUND, "nothing is put"


def test_a_setting_without_a_value_is_refused_in_the_words_of_its_command(cli, state):
    brought_to(state, JobState.SUSPENDED, "x")
    assert cli("configure", "x", "nonsense") == (USAGE, "", f"ERROR: configure takes KEY=VALUE, not 'nonsense'.{HINT}")


@pytest.mark.parametrize("state_name", ["RUNNING", "FAILED", "SUSPENDED"])
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("nonsense=1", "Unknown job option: nonsense. There are: "),
        ("nonsense", "configure takes KEY=VALUE, not 'nonsense'."),
        ("snapshot_interval=soon", "'soon' is no snapshot_interval: "),
        ("partitions=3", "partitions is not supported for configure: "),
    ],
)
def test_a_wrong_setting_is_told_before_the_state_of_the_job(cli, state, state_name, setting, sentence):
    brought_to(state, JobState(state_name), "x")
    code, out, err = cli("configure", "x", setting)
    assert (code, out) == (USAGE, "")
    assert err.startswith(f"ERROR: {sentence}")
    assert "Current state" not in err


@pytest.mark.parametrize(
    "arguments", [("history", "x", "--step", "hour"), ("-o", "xml", "list-jobs"), ("list-jobs", "-o", "xml")]
)
def test_a_word_that_is_not_among_the_choices_is_told_without_words_of_a_library(bare, arguments):
    code, out, err = bare(*arguments)
    assert (code, out) == (2, "")
    assert " is not one of " in err
    assert "Value error" not in err


def test_a_data_folder_that_cannot_be_made(bare):
    sentence = "The folder /proc/x cannot be created (No such file or directory): choose another folder."
    assert bare("serve", "--data", "/proc/x") == (USAGE, "", f"ERROR: {sentence}{HINT}")


def test_a_server_without_tls_that_is_called_by_https(cli, url):
    https = url.replace("http:", "https:")
    sentence = f"The server at {https} speaks no TLS: give its address as {url} (--url)."
    assert cli("-t", https, "list-jobs") == (AWAY, "", f"ERROR: {sentence}{HINT}")


def test_a_job_that_fails_once_it_is_submitted_is_not_to_be_submitted_again_for_its_trace(cli, tmp_path, monkeypatch):
    def fails(*arguments):
        raise RuntimeError("the moon is full")

    monkeypatch.setattr("pitstop.client.watching.job_in", fails)
    path = tmp_path / "job.py"
    path.touch()
    code, _, err = cli("submit", path)
    assert code == 1
    assert err == f"ERROR: RuntimeError: the moon is full\n\nTo see the full stack trace: pitstop logs {JOB}\n"


def test_a_wrong_regular_expression(cli, state):
    running(state, "x")
    code, out, err = cli("logs", "x", "--grep", "(")
    assert (code, out) == (USAGE, "")
    assert err.startswith("ERROR: --grep '(' is not a regular expression: ")


def test_a_wrong_token(cli, token_file):
    sentence = (
        "The token is missing or wrong: it is in the file 'token' of the server's data folder; "
        "give it with --token-file or PITSTOP_TOKEN."
    )
    assert cli("--token-file", token_file("wrong"), "list-jobs") == (DENIED, "", f"ERROR: {sentence}{HINT}")


@pytest.mark.parametrize("command", ["serve", "list-jobs"])
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o622])
def test_a_token_file_that_others_may_read_or_change_is_refused(bare, token_file, command, mode):
    path = token_file("sesame-open")
    path.chmod(mode)
    sentence = f"The token file {path} may be read by other users: make it private (chmod 600 {path})."
    assert bare(command, "--token-file", path) == (USAGE, "", f"ERROR: {sentence}{HINT}")


def test_a_token_is_never_an_argument(bare):
    code, _, err = bare("list-jobs", "--token", "sesame-open")
    assert code == 2
    assert "No such option: --token" in err


def test_no_server(bare):
    url = f"http://127.0.0.1:{free_port()}"
    sentence = f"No Pitstop server answers at {url}: start one with 'pitstop serve' or give its address with --url."
    assert bare("-t", url, "list-jobs") == (AWAY, "", f"ERROR: {sentence}{HINT}")


@pytest.mark.parametrize("arguments", [("-v", "status", "nosuch"), ("status", "nosuch", "--verbosity")])
def test_the_stack_trace_only_when_asked_for(cli, arguments):
    code, _, err = cli(*arguments)
    assert code == NOT_FOUND
    assert err.startswith("ERROR: No job with name or id 'nosuch' was found\n\nTraceback (most recent call last):\n")
    assert "To see the full stack trace" not in err


def test_even_what_nobody_expected_is_one_sentence(cli, monkeypatch):
    def burst(service):
        raise RuntimeError("the moon is full")

    monkeypatch.setattr("pitstop.client.http.HttpService.snapshots", burst)
    assert cli("list-snapshots") == (1, "", f"ERROR: RuntimeError: the moon is full{HINT}")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("no-such-command",), "No such command 'no-such-command'"),
        (("list-jobs", "--no-such-option"), "No such option: --no-such-option"),
        (("list-jobs", "more"), "unexpected extra argument"),
        (("suspend",), "Missing argument 'JOB'"),
        (("-o", "xml", "list-jobs"), "'xml' is not one of 'table', 'wide', 'name', 'json', 'yaml', 'jsonpath=EXPRESSION'"),
        (("serve", "--port", "70000"), "'--port': Input should be less than or equal to 65535"),
        (("completion", "cobol"), "'cobol' is not one of 'bash', 'zsh', 'fish'"),
        (("map", "configure", "m", "--journal-capacity", "-1"), "'--journal-capacity': Input should be greater"),
    ],
)
def test_wrong_usage_is_exit_code_two(bare, arguments, part):
    code, out, err = bare(*arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert err.startswith("Usage: pitstop")


def test_without_a_command_the_usage_is_shown(bare):
    code, out, err = bare()
    assert (code, err) == (0, "")
    assert out.startswith("Usage: pitstop [OPTIONS] COMMAND [ARGS]...\n")
    assert bare("-h") == (0, out, "") == bare("--help")


def test_every_command_is_in_the_help_and_has_its_own(bare):
    commands = [
        "serve",
        "member",
        "operator",
        "submit",
        "check",
        "suspend",
        "resume",
        "restart",
        "cancel",
        "configure",
        "rollback",
        "discard",
        "update",
        "list-jobs",
        "list-kept-states",
        "status",
        "events",
        "history",
        "graph",
        "tasks",
        "peek",
        "versions",
        "options",
        "artifacts",
        "audit",
        "metrics",
        "logs",
        "log-level",
        "save-snapshot",
        "list-snapshots",
        "delete-snapshot",
        "sql",
        "pgwire",
        "map",
        "snapshot",
        "cluster",
        "ui",
        "backup",
        "restore",
        "withdraw",
        "support-bundle",
        "completion",
        "help",
        "adopt",
        "apply",
        "init",
        "job",
        "wait",
        "delete",
        "connectors",
        "fetch-jars",
        "doctor",
    ]
    out = bare("--help")[1]
    sections = out.partition("\nStart:\n")[2].splitlines()
    listed = [line.split()[0] for line in sections if line.startswith("  ") and not line.startswith("   ")]
    assert sorted(listed) == sorted(commands)
    for command in commands:
        code, text, _ = bare(command, "-h")
        assert (code, text.startswith(f"Usage: pitstop {command} ")) == (0, True)


def test_a_command_that_was_read_by_itself_has_its_short_help_option(bare):
    commands.cache_clear()
    commands().commands["suspend"].make_context("suspend", [], resilient_parsing=True)
    assert bare("suspend", "-h")[::2] == (0, "")


def test_the_version(bare):
    for option in ("-V", "--version"):
        assert bare(option) == (0, "pitstop 0.1.0\n", "")


@pytest.mark.parametrize("value", ["1e400", "[-1e400]", '"\\ud800"', '{"a": 1e999}'])
def test_a_value_that_json_cannot_hold_is_one_sentence(cli, value):
    code, out, err = cli("map", "put", "m", "k", value)
    assert (code, out) == (USAGE, "")
    assert err.startswith(("ERROR: The value is no JSON: ", "ERROR: The value is not valid text: "))


def test_an_argument_that_is_no_text_is_one_sentence(cli):
    code, out, err = cli("map", "put", "m", os.fsdecode(b"k\xff"), "1")
    assert (code, out) == (USAGE, "")
    assert err == f"ERROR: The argument 'k\\udcff' is not valid text: it holds one half of a surrogate pair.{HINT}"


def test_a_name_in_the_form_of_an_id_is_refused(cli, tmp_path):
    path = tmp_path / "job.py"
    path.touch()
    sentence = "'0401-9f77-b9c0-0001' cannot name a job: it is the id of one, or may become it."
    assert cli("submit", "-n", "0401-9f77-b9c0-0001", path)[2] == f"ERROR: {sentence}{HINT}"


@pytest.mark.parametrize("command", ["serve", "member"])
@pytest.mark.parametrize("secret", ["me:hush@host/db", "host/db?password=hush", "host/db?sslmode=require&sslpassword=hush"])
def test_a_password_in_an_argument_is_refused(bare, command, secret):
    code, _, err = bare(command, "--store", f"postgresql://{secret}")
    assert code == USAGE
    assert err.startswith("ERROR: All users of the machine can see a password in --store")
    assert "hush" not in err
