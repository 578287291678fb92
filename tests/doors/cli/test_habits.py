"""What people type who come from kubectl, docker or Flink: nouns, several names, forms of output, logs, waiting, completion."""

import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time

import pytest
import yaml
from typer._completion_classes import BashComplete

from pitstop.cli.examples import EXAMPLES
from pitstop.cli.register import SECTIONS, SYNONYMS, examples_of
from pitstop.cli.together import together
from pitstop.client.http import HttpService
from pitstop.errors import NotFoundError, UnreachableError, WaitTimeoutError
from pitstop.main.commands import commands
from pitstop.model.job import JobState, Progress
from pitstop.model.operation import Cancel, Export, Suspend
from tests.doors.cli.test_lines_of_the_page import understood
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, request, running

USAGE, NOT_FOUND, REFUSED, TIMEOUT = 2, 3, 4, 7


def test_a_command_and_its_second_name_say_the_same(cli, state):
    running(state, "a")
    state.do("a", Export("s"))
    pairs = [(name.split(), first.split()) for name, first in SYNONYMS.items()]
    looks = {"list-jobs": (), "status": ("a",), "events": ("a",), "graph": ("a",), "versions": ("a",), "list-snapshots": ()}
    for name, first in pairs:
        assert (
            cli(*name, "-h")[1].partition("\n\n")[2].split("Examples:")[0]
            == (cli(*first, "-h")[1].partition("\n\n")[2].split("Examples:")[0])
        )
        if " ".join(first) in looks:
            more = looks[" ".join(first)]
            assert cli(*name, *more) == cli(*first, *more)


def test_every_command_stands_in_a_section_of_the_help():
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(name for name, command in commands().commands.items() if not command.hidden)


@pytest.mark.parametrize("line", sorted({line for name in [*EXAMPLES, *SYNONYMS] for line, _ in examples_of(name)}))
def test_the_command_line_reads_its_examples(line):
    program, *words = shlex.split(line.removeprefix("source <(").removesuffix(" | source").rstrip(")"))
    assert program == "pitstop"
    understood(words)


def test_examples_come_before_options_and_are_those_of_the_name(bare):
    out = bare("job", "list", "-h")[1]
    assert out.index("Examples:\n  pitstop job list\n") < out.index("Options:")
    assert "list-jobs" not in out
    assert bare("help", "job", "list")[1] == out
    assert bare("help")[1].startswith("Usage: pitstop [OPTIONS] COMMAND")
    code, _, err = bare("help", "nothing")
    assert (code, "There is no command 'nothing': see pitstop help." in err) == (USAGE, True)


@pytest.mark.parametrize(("word", "meant"), [("ps", "pitstop job list"), ("stop", "pitstop suspend"), ("get", "map list")])
def test_words_of_other_tools_are_answered_with_ours(bare, word, meant):
    code, _, err = bare(word, "x")
    assert (code, meant in err) == (USAGE, True)


def test_several_jobs_are_acted_on_and_one_that_is_refused_keeps_nobody(cli, state):
    for name in ("a", "b"):
        running(state, name)
    brought_to(state, JobState.SUSPENDED, "c")
    code, out, err = cli("suspend", "a", "b", "c")
    assert code == REFUSED
    assert sorted(out.splitlines())[:2] == ["Job 'a' suspended.", "Job 'b' suspended."]
    assert err == "ERROR: Job 'c' is not running. Current state: SUSPENDED\n"
    assert {job.name: job.status.value for job in state.jobs()} == dict.fromkeys("abc", "SUSPENDED")


def test_all_means_those_that_the_verb_is_about(cli, state):
    running(state, "a")
    brought_to(state, JobState.SUSPENDED, "b")
    brought_to(state, JobState.FAILED, "c")
    assert cli("suspend", "--all")[0] == 0
    code, out, _ = cli("-o", "json", "resume", "--all")
    assert (code, sorted(job["name"] for job in json.loads(out))) == (0, ["a", "b"])
    assert state.job("c").display_status.value == "CANCELLED"
    assert cli("cancel", "--all")[0] == 0
    assert cli("cancel", "--all") == (0, "No job can be cancelled: nothing to do.\n", "")
    code, _, err = cli("cancel", "--all", "a")
    assert (code, "not both at once" in err) == (USAGE, True)


def test_a_dry_run_says_what_the_server_would_and_does_nothing(cli, state):
    running(state, "a")
    brought_to(state, JobState.SUSPENDED, "b")
    code, out, _ = cli("suspend", "--dry-run", "a", "b")
    assert code == REFUSED
    first, second = out.splitlines()
    assert first.startswith("Would suspend job id=")
    assert second.startswith("Would be refused: ")
    assert state.job("a").status is JobState.RUNNING
    assert cli("cancel", "--dry-run", "--all")[0] == 0
    assert len(state.jobs()) == 2


def test_delete_asks_cancels_and_removes_the_state(cli, state):
    running(state, "a")
    brought_to(state, JobState.FAILED, "b")
    code, _, err = cli("delete", "a")
    assert (code, "Nobody is here to be asked: if that is meant, give --yes." in err) == (USAGE, True)
    assert state.job("a").status is JobState.RUNNING
    assert cli("delete", "--dry-run", "a")[1].startswith("Would cancel and delete job id=")
    code, out, _ = cli("job", "delete", "--yes", "a", "b")
    assert (code, out) == (0, "Job 'a' deleted.\nJob 'b' deleted.\n")
    assert state.kept_states() == []
    assert cli("resume", "a")[0] != 0
    assert cli("delete", "--all", "--yes") == (0, "There is no such job: nothing to do.\n", "")


def test_several_snapshots_are_deleted_or_none(cli, state):
    job = running(state, "a")
    for name in ("s", "t"):
        state.do(job, Export(name))
    code, _, err = cli("snapshot", "delete", "s", "nosuch")
    assert (code, err.splitlines()[0]) == (NOT_FOUND, "ERROR: Didn't find a snapshot named 'nosuch'")
    assert cli("delete-snapshot", "--dry-run", "s") == (0, "Would delete snapshot 's'.\n", "")
    assert len(state.snapshots()) == 2
    assert cli("snapshot", "delete", "s", "t")[0] == 0
    assert state.snapshots() == []


def test_names_and_paths_are_lines_and_wide_has_more_columns(cli, state):
    running(state, "a")
    state.put(running(state, "b"), name=None)
    ids = {job.name: job.id for job in state.jobs()}
    assert sorted(cli("list-jobs", "-o", "name")[1].splitlines()) == sorted(["a", ids[None]])
    for path in ("$[*].id", "[*].id", "{[*].id}", "$..id"):
        assert sorted(cli("list-jobs", "-o", f"jsonpath={path}")[1].splitlines()) == sorted(ids.values())
    assert cli("status", "a", "-o", "jsonpath=.progress.epoch")[1] == "-1\n"
    assert cli("status", "a", "-o", "jsonpath=.nothing") == (0, "", "")
    filtered = cli("-o", 'jsonpath=$[?@.name=="a"].id', "list-jobs")[1]
    assert filtered == f"{ids['a']}\n"
    head, *lines = cli("list-jobs", "-o", "wide")[1].splitlines()
    assert (head.split()[:4], len(lines)) == (["ID", "STATUS", "VERSION", "EPOCH"], 2)
    code, _, err = cli("list-jobs", "-o", "jsonpath=[")
    assert (code, "is no JSONPath" in err) == (USAGE, True)
    code, _, err = cli("-o", "name", "sql", "-e", "SHOW JOBS")
    assert (code, "Rows of SQL have no form name" in err) == (USAGE, True)


def test_jobs_are_listed_by_status(cli, state):
    running(state, "a")
    brought_to(state, JobState.FAILED, "b")
    running(state, "c", "# fails: No such column.")
    assert cli("list-jobs", "--status", "failed", "-o", "name")[1] == "c\n"
    assert sorted(cli("job", "list", "--status", "cancelled", "--status", "RUNNING", "-o", "name")[1].split()) == ["a", "b"]
    code, _, err = cli("list-jobs", "--status", "happy")
    assert (code, "'happy' is not one of not_running, starting, running" in err) == (USAGE, True)


def test_a_pipeline_is_drawn_by_graphviz(cli, state):
    running(state, "a", "# stage: speed bigint")
    lines = cli("graph", "--dot", "a")[1].splitlines()
    assert (lines[0], lines[-1]) == ("digraph job {", "}")
    assert '  "source" -> "speed";' in lines
    assert any(line.startswith('  "speed" [label="speed\\n') and line.endswith(", peripheries=2];") for line in lines)


STAMP = "2026-11-22T12:{:02}:00,000"


def log_line(minute, level, message, **more):
    facts = {
        "time": STAMP.format(minute),
        "level": level,
        "logger": "pitstop.x",
        "msg": message,
        "thread": "main",
        "job": "a",
        "run": 1,
    }
    return json.dumps(facts | more)


def test_logs_are_for_people_and_can_be_cut_by_number_time_and_level(cli, state):
    job = running(state, "a")
    lines = [
        log_line(1, "INFO", "one", pid=7),
        log_line(2, "WARN", "two", reason="no\nroom"),
        log_line(3, "ERROR", "three", error="Traceback:\n  at x"),
        "printed by a library",
        log_line(4, "DEBUG", "four"),
    ]
    state.write_log(job, "".join(f"{line}\n" for line in lines))
    shown = [
        "2026-11-22 12:01:00.000 INFO  pitstop.x: one pid=7",
        "2026-11-22 12:02:00.000 WARN  pitstop.x: two reason=no\\nroom",
        "2026-11-22 12:03:00.000 ERROR pitstop.x: three\n    Traceback:\n      at x",
        "printed by a library",
        "2026-11-22 12:04:00.000 DEBUG pitstop.x: four",
    ]

    def printed(*options):
        code, out, err = cli("logs", "a", *options)
        assert (code, err) == (0, "")
        return out

    def whole(*numbers):
        return "".join(f"{shown[number]}\n" for number in numbers)

    assert printed() == whole(0, 1, 2, 3, 4)
    assert printed("--tail", "2") == whole(3, 4)
    assert printed("--tail", "0") == ""
    assert printed("--level", "warn") == whole(1, 2)
    assert printed("--level", "warning", "--tail", "1") == whole(2)
    assert printed("--since", "2026-11-22T12:03") == whole(2, 3, 4)
    assert printed("--since", "2026-11-22T13:03+01:00") == whole(2, 3, 4)
    assert printed("--since", "1m") == ""
    assert printed("--since", "800000h") == whole(0, 1, 2, 3, 4)
    assert printed("--grep", "printed|pid=7") == whole(0, 3)
    assert " thread=main job=a run=1" in cli("-v", "logs", "a", "--tail", "1")[1]
    stored = cli("logs", "a", "-o", "json", "--tail", "3")[1].splitlines()
    assert [json.loads(line).get("msg") for line in stored] == ["three", "printed by a library", "four"]
    assert next(yaml.safe_load_all(cli("logs", "a", "-o", "yaml", "--level", "error")[1]))["error"] == "Traceback:\n  at x"
    assert cli("logs", "a", "-o", "jsonpath=$.level", "--tail", "1")[1] == "DEBUG\n"
    assert (cli("logs", "a", "--since", "yesterday")[0], cli("logs", "a", "--level", "loud")[0]) == (USAGE, USAGE)


def test_the_tail_is_followed_by_what_comes(cli, state):
    job = running(state, "a")
    state.write_log(job, "one\ntwo\n")
    ended = threading.Timer(1.0, lambda: (state.write_log(job, "three\n"), state.do(job, Cancel())))
    ended.start()
    assert cli("logs", "-f", "--tail", "1", "a") == (0, "two\nthree\n", "")


def test_submit_need_not_wait_and_can_be_tried(cli, state, tmp_path):
    path = tmp_path / "slow.py"
    path.write_text("# hangs")
    code, out, _ = cli("submit", "--detach", path)
    assert (code, "is submitted. It starts by itself" in out) == (0, True)
    assert state.job("slow").active
    code, _, err = cli("submit", "-n", "other", "--timeout", "1s", path)
    assert (code, "after 1 seconds" in err) == (TIMEOUT, True)
    assert state.job("other").active
    fits = tmp_path / "fits.py"
    fits.write_text("# stage: speed bigint")
    code, out, _ = cli("submit", "--dry-run", "-n", "third", fits)
    assert (code, "The pipeline is sound" in out, "Nothing was done." in out) == (0, True, True)
    with pytest.raises(NotFoundError):
        state.job("third")
    code, _, err = cli("submit", "--dry-run", "-n", "slow", fits)
    assert (code, "Another active job with equal name (slow) exists" in err) == (REFUSED, True)
    assert [cli("submit", "--timeout", wrong, fits)[0] for wrong in ("soon", "0", "-1s")] == [USAGE] * 3


def test_a_job_that_writes_the_rows_of_a_cancelled_one_again_is_warned_of_before_and_after_its_start(cli, state, tmp_path):
    text = "# sink: out\n# into: the folder /rows"
    state.advance(first := running(state, "payments", text), Progress(epoch=1))
    state.do(first, Cancel())
    assert state.wait_for(first, (JobState.FAILED,), 20)
    path = tmp_path / "payments_v3.py"
    path.write_text(text)
    warning = f"Warning: Sink 'out' () writes into the folder /rows, as job 'payments' ({first}) did, which is CANCELLED"
    code, out, _ = cli("-o", "json", "check", path)
    checked = json.loads(out)
    assert (code, [f"Warning: {each}"[: len(warning)] for each in checked["warnings"]]) == (0, [warning])
    code, out, _ = cli("submit", "--dry-run", path)
    assert (code, warning in out) == (0, True)
    code, out, err = cli("submit", path)
    assert (code, "is RUNNING" in out, warning in out) == (0, True, False)
    assert err.startswith(warning)
    assert "cancel this one, then 'pitstop update payments FILE' or 'pitstop resume payments'" in err


def test_an_update_can_be_tried(cli, state, tmp_path):
    running(state, "a", "# stage: speed bigint")
    fits, refused = tmp_path / "fits.py", tmp_path / "refused.py"
    fits.write_text("# stage: speed bigint")
    refused.write_text("# stage: speed double")
    code, out, _ = cli("update", "--dry-run", "a", fits)
    assert (code, "Would update job" in out, state.job("a").version) == (0, True, 1)
    code, out, _ = cli("update", "--dry-run", "a", refused)
    assert (code, "refused" in out, state.job("a").version) == (1, True, 1)


def test_waiting_for_a_state(cli, state):
    job = running(state, "a")
    assert cli("wait", "--for", "running", "a")[0] == 0
    code, _, err = cli("wait", "--timeout", "0.5", "a")
    assert (code, "is RUNNING, not" in err) == (TIMEOUT, True)
    threading.Timer(0.5, lambda: state.do(job, Suspend())).start()
    assert cli("job", "wait", "--for", "SUSPENDED", "a")[1].endswith("is SUSPENDED.\n")
    state.do(job, Cancel())
    assert cli("wait", "a")[1].endswith("is CANCELLED.\n")
    code, _, err = cli("wait", "--for", "running", "a")
    assert (code, "has ended: it is CANCELLED and will not be RUNNING." in err) == (REFUSED, True)
    running(state, "b", "# fails: No such column.")
    code, _, err = cli("wait", "b")
    assert (code, "No such column." in err) == (1, True)
    assert cli("wait", "--for", "happiness", "a")[0] == USAGE


def completed(url, monkeypatch, *words):
    """The words that a shell shows for the last of these."""
    monkeypatch.setenv("PITSTOP_URL", url)
    monkeypatch.setenv("PITSTOP_TOKEN", TOKEN)
    *before, incomplete = words
    completion = BashComplete(commands(), {}, "pitstop", "_PITSTOP_COMPLETE")
    return [item.value for item in completion.get_completions(before, incomplete)]


def test_names_are_completed_from_the_server(url, state, monkeypatch):
    running(state, "speeds")
    brought_to(state, JobState.FAILED, "orders")
    state.do("speeds", Export("monday"))
    state.map_put("vehicles", {"k": "1"})
    ask = lambda *words: completed(url, monkeypatch, *words)  # noqa: E731
    assert ask("suspend", "") == ["speeds", "orders"]
    assert ask("job", "describe", "sp") == ["speeds"]
    assert ask("suspend", "speeds", "o") == ["orders"]
    assert ask("snapshot", "query", "m") == ["monday"]
    assert ask("submit", "-s", "m") == ["monday"]
    assert ask("check", "-j", "s") == ["speeds"]
    assert ask("map", "entries", "") == ["vehicles"]
    assert ask("list-jobs", "--status", "su") == ["suspended", "suspended_exporting_snapshot"]
    assert ask("list-jobs", "-o", "js") == ["json", "jsonpath="]
    # The server of the line comes before that of the environment.
    assert completed("http://127.0.0.1:9", monkeypatch, "-t", url, "suspend", "sp") == ["speeds"]


def test_without_a_server_nothing_is_completed_nor_said(monkeypatch, capfd):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # one that takes connections and never answers
        began = time.monotonic()
        assert completed(f"http://127.0.0.1:{silent.getsockname()[1]}", monkeypatch, "suspend", "") == []
        assert time.monotonic() - began < 5
    assert completed("http://127.0.0.1:9", monkeypatch, "suspend", "") == []
    assert capfd.readouterr() == ("", "")


def test_completion_loads_none_of_the_big_libraries(url):
    code = (
        "import sys\nfrom pitstop.main.app import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('fastapi', 'sqlalchemy', 'pitstop.client.http', 'rich', 'yaml', 'pyspark') if m in sys.modules])"
    )
    variables = {"_PITSTOP_COMPLETE": "complete_bash", "COMP_WORDS": "pitstop suspend ", "COMP_CWORD": "2"}
    environment = os.environ | variables | {"PITSTOP_URL": url, "PITSTOP_TOKEN": TOKEN}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stdout
    assert out.splitlines()[-1] == "[]"


class Cutting:
    """A proxy that hands requests on, and cuts the connection in the place of the first answers."""

    def __init__(self, url, cuts):
        self.target = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.cuts, self.requests = cuts, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.hand_on, args=(connection,), daemon=True).start()

    def hand_on(self, connection):
        with connection, socket.create_connection(self.target) as server:
            threading.Thread(target=self.pump, args=(connection, server), daemon=True).start()
            while data := server.recv(65536):
                self.requests += 1
                if self.requests <= self.cuts:
                    connection.shutdown(socket.SHUT_RDWR)
                    return  # the server has done what was asked for, and nobody hears of it
                connection.sendall(data)

    @staticmethod
    def pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass


def test_a_submission_whose_answer_is_lost_is_sent_again_and_made_once(url, state):
    proxy = Cutting(url, cuts=2)
    job = HttpService(proxy.url, TOKEN).submit(request("x"))
    assert proxy.requests > 2
    assert [each.id for each in state.jobs(include_ended=True)] == [job.id]


def test_a_look_is_sent_again(url, state):
    running(state, "x")
    assert [job.name for job in HttpService(Cutting(url, cuts=1).url, TOKEN).jobs()] == ["x"]


def test_what_may_have_been_done_is_not_asked_for_twice_and_nobody_is_told_to_try_again(url, state):
    job = running(state, "x")
    proxy = Cutting(url, cuts=1)
    with pytest.raises(UnreachableError, match=r"it may have done what you asked for") as lost:
        HttpService(proxy.url, TOKEN).do(job, Suspend())
    assert "try again" not in lost.value.message
    assert proxy.requests == 1
    assert state.wait_for(job, (JobState.SUSPENDED,), 20)


def test_a_request_that_takes_too_long_goes_on(url, state, monkeypatch):
    job = running(state, "x")
    asked = threading.Event()
    verb = state.ask
    monkeypatch.setattr(state, "ask", lambda *arguments: (asked.wait(3), verb(*arguments))[1])
    with pytest.raises(WaitTimeoutError, match=r"has not answered within 0.5 s. What you asked for goes on by itself."):
        HttpService(url, TOKEN, patience=0.5).do(job, Suspend())
    asked.set()
    assert state.wait_for(job, (JobState.SUSPENDED,), 20)


def test_deeds_are_done_at_the_same_time_and_told_in_order():
    barrier = threading.Barrier(3, timeout=10)

    def deed(number):
        barrier.wait()
        if number == 2:
            raise ValueError(number)
        return number * 10

    first, second, third = together(deed, [1, 2, 3])
    assert (first, third) == ((1, 10), (3, 30))
    assert isinstance(second[1], ValueError)


def test_examples_are_of_commands_that_there_are():
    for name in EXAMPLES:
        command = commands()
        for word in name.split():
            command = command.commands[word]
