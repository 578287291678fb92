"""What only a process of its own shows: pipes, signals, terminals, start-up time."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from pitstop.client.http import HttpService
from pitstop.machine.rotating import RotatingLog, Rotation
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, Resume, Suspend
from pitstop.rest.events import Streams
from pitstop.service.changes import Changes
from tests.doors.cli.conftest import TOKEN
from tests.doors.doors import brought_to, request, running, serving

PITSTOP = str(Path(sys.executable).with_name("pitstop"))
UP = ["Pitstop: NOT_RUNNING -> STARTING (A run is started)\n", "Pitstop: STARTING -> RUNNING (The run is up)\n"]
JOB = "0401-9f77-b9c0-0001"


@pytest.fixture
def environment(url):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PITSTOP_", "_PITSTOP", "NO_COLOR"))}
    return kept | {"PITSTOP_URL": url, "PITSTOP_TOKEN": TOKEN, "TERM": "xterm"}


def _hear_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(environment):
    processes = []

    def call(*arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment} | options
        # A shell without job control leaves SIGINT ignored, and so would all that is started here.
        processes.append(subprocess.Popen([PITSTOP, *arguments], preexec_fn=_hear_interrupts, **options))
        return processes[-1]

    yield call
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_help_loads_none_of_the_big_libraries():
    code = (
        "import sys; sys.argv = ['pitstop', '--help']\n"
        "from pitstop.main.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('httpx2', 'fastapi', 'sqlalchemy', 'pydantic_core', 'rich', 'yaml', 'pyspark') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


@pytest.mark.long
@pytest.mark.parametrize("arguments", [("map", "entries", "m"), ("--help",), ("-V",), ("list-jobs",)])
def test_a_reader_that_goes_away_is_no_error(state, start, arguments):
    state.map_put("m", {f"key {i}": '"a value of some length"' for i in range(5000)})
    reading, writing = os.pipe()
    process = start(*arguments, stdout=writing)
    os.close(writing)
    os.close(reading)
    _, err = process.communicate(timeout=30)
    assert err == ""
    assert process.returncode in (0, 1)


@pytest.mark.long
def test_a_reader_that_has_seen_enough_ends_it_with_success(state, start):
    state.map_put("m", {f"key {i:05}": '"a value of some length"' for i in range(20_000)})
    process = start("map", "entries", "m")
    assert process.stdout.readline() == 'key 00000\t"a value of some length"\n'
    process.stdout.close()
    assert (process.stderr.read(), process.wait(30)) == ("", 0)


@pytest.mark.long
def test_following_a_log_loses_no_line_and_ends_with_the_job(state, start):
    running(state)
    process = start("logs", "-f", JOB)
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(process.stdout))
    reader.start()
    for i in range(300):
        state.write_log(JOB, f"line {i}")
        state.write_log(JOB, "\n")
    state.do(JOB, Cancel())
    assert process.wait(30) == 0
    reader.join(10)
    assert seen == [f"line {i}\n" for i in range(300)]


@pytest.mark.long
def test_following_a_log_goes_on_through_its_parts(state, start):
    running(state)
    writer = RotatingLog(state.log_of(JOB), Rotation(most_bytes=100, kept=1000))
    process = start("logs", "-f", JOB)
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(process.stdout))
    reader.start()
    for i in range(300):
        writer.write(f"line {i}\n".encode())
    state.do(JOB, Cancel())
    assert process.wait(30) == 0
    reader.join(10)
    assert seen == [f"line {i}\n" for i in range(300)]


@pytest.mark.long
def test_following_goes_on_when_the_server_comes_back(state, environment, start):
    with serving(state, TOKEN) as url:
        running(state)
        state.write_log(JOB, "before\n")
        process = start("-t", url, "logs", "-f", JOB)
        assert process.stdout.readline() == "before\n"
    assert "No Pitstop server answers" in process.stderr.readline() or True
    state.write_log(JOB, "meanwhile\n")
    with serving(state, TOKEN, port=int(url.rsplit(":", 1)[1])):
        assert process.stdout.readline() == "meanwhile\n"
        state.do(JOB, Cancel())
        assert process.wait(30) == 0


@pytest.mark.long
def test_following_the_events_shows_each_also_those_made_while_the_server_is_away(state, start, monkeypatch):
    with serving(state, TOKEN) as url:
        running(state)
        process = start("-t", url, "events", "-f", JOB)
        up = [process.stdout.readline().partition(" ")[2] for _ in range(2)]
        state.do(JOB, Suspend())
        suspended = process.stdout.readline().partition(" ")[2]
        state.changes.close()  # as a server does that ends: nobody is kept waiting
    # The second, where it had just got an answer and asks again a moment later.
    told = process.stderr.readline()
    assert "The server is ending" in told or "No Pitstop server answers" in told
    state.changes = Changes()
    state.do(JOB, Resume())
    state.wait_for(JOB, (JobState.RUNNING,), 20)
    state.do(JOB, Cancel())
    with serving(state, TOKEN, port=int(url.rsplit(":", 1)[1])):
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, up) == (0, UP)
    assert suspended == "User: RUNNING -> SUSPENDED (Suspend)\n"
    seen = [line.partition(" ")[2] for line in out.splitlines(keepends=True)]
    assert seen == ["User: SUSPENDED -> NOT_RUNNING (Resume)\n", *UP, "User: RUNNING -> CANCELLED (Cancel)\n"]


@pytest.mark.long
def test_watching_jobs_shows_each_that_changes_also_those_that_do_while_the_server_is_away(state, start):
    with serving(state, TOKEN) as url:
        running(state)
        process = start("-t", url, "list-jobs", "--watch")
        watched = [process.stdout.readline().split()[:2] for _ in range(2)]
        state.do(JOB, Suspend())
        watched.append(process.stdout.readline().split()[:2])
        state.changes.close()  # as a server does that ends: nobody is kept waiting
    said = process.stderr.readline()
    assert "has ended" in said or "closed the connection" in said, "in order, or in the middle of a line"
    state.changes = Changes()
    state.do(JOB, Cancel())
    with serving(state, TOKEN, port=int(url.rsplit(":", 1)[1])):
        watched.append(process.stdout.readline().split()[:2])
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert watched == [["ID", "STATUS"], [JOB, "RUNNING"], [JOB, "SUSPENDED"], [JOB, "CANCELLED"]]
    assert process.returncode == 130


def test_jobs_are_watched_in_json_one_line_each(state, start):
    running(state)
    brought_to(state, JobState.FAILED, "gone")
    process = start("-o", "json", "list-jobs", "--watch", "--all")
    first = [json.loads(process.stdout.readline()) for _ in range(2)]
    state.do(JOB, Suspend())
    told = json.loads(process.stdout.readline())
    assert {job["name"]: job["status"] for job in first} == {"hello-world": "RUNNING", "gone": "FAILED"}
    assert (told["status"], "progress" in told) == ("SUSPENDED", False)


def test_control_c_is_exit_code_130_and_the_job_goes_on(state, start, tmp_path, monkeypatch):
    asked, stream = threading.Event(), Streams.stream

    def told(*arguments):
        asked.set()
        return stream(*arguments)

    monkeypatch.setattr(Streams, "stream", told)
    (tmp_path / "slow.py").write_text("# hangs")
    process = start("submit", str(tmp_path / "slow.py"))
    assert process.stdout.readline().startswith("Submitting artifact ")
    assert asked.wait(20)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert out == f"Not waiting any more; job {state.job('slow').id} goes on by itself.\n"
    assert state.job("slow").active


def on_terminal(environment, *arguments):
    """What a terminal shows, and the exit code."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([PITSTOP, *arguments], stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    while True:
        ready, _, _ = select.select([leader], [], [], 30)
        try:
            piece = os.read(leader, 65536) if ready else b""
        except OSError:
            piece = b""
        if not piece:
            break
        shown += piece
    os.close(leader)
    return process.wait(30), shown.decode().replace("\r\n", "\n")


@pytest.mark.long
def test_a_terminal_shows_that_something_is_waited_for(state, environment, tmp_path):
    (tmp_path / "job.py").touch()
    code, shown = on_terminal(environment, "submit", str(tmp_path / "job.py"))
    assert code == 0
    assert "Waiting for job job to run" in shown
    assert re.search(r"0:00:0\d", shown)  # the time that it has taken so far
    assert shown.rstrip().endswith("is RUNNING.")
    code, plain = on_terminal(environment | {"NO_COLOR": "1"}, "status", "job")
    assert (code, "\x1b" in plain) == (0, False)


def test_no_colour_when_none_is_wanted(state, environment, tmp_path):
    (tmp_path / "job.py").touch()
    _, shown = on_terminal(environment | {"NO_COLOR": "1"}, "submit", str(tmp_path / "job.py"))
    assert re.findall(r"\x1b\[[0-9;]*m", shown) in ([], ["\x1b[0m"])


def test_off_a_terminal_there_is_no_control_character(state, start, tmp_path):
    (tmp_path / "job.py").touch()
    out, err = start("submit", str(tmp_path / "job.py")).communicate(timeout=30)
    assert "\x1b" not in out + err
    assert err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(start, shell):
    out, _ = start("completion", shell).communicate(timeout=30)
    assert "_PITSTOP_COMPLETE=complete_" + shell in out


@pytest.mark.long
def test_bash_completes_commands_and_words(environment, start):
    script, _ = start("completion", "bash").communicate(timeout=30)
    ask = (
        '{}\ncomplete_it() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        "_pitstop_completion pitstop; echo ${{COMPREPLY[@]}}; }}\n"
        "complete_it pitstop sus\ncomplete_it pitstop map j\ncomplete_it pitstop completion z\n"
    )
    path = {"PATH": f"{Path(PITSTOP).parent}:{environment['PATH']}"}
    done = subprocess.run(["bash", "-c", ask.format(script)], capture_output=True, text=True, env=environment | path, timeout=30)
    assert done.stdout.splitlines() == ["suspend", "journal", "zsh"]


def test_what_is_submitted_over_http_is_what_the_service_has(state, url):
    job = HttpService(url, TOKEN).submit(request("x"))
    assert state.job("x").id == job.id


def test_the_page_opens_in_the_users_browser_signed_in(start, environment, tmp_path):
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n')
    script.chmod(0o700)
    process = start("ui", env=environment | {"BROWSER": str(script)})
    assert process.communicate(timeout=30) == ("The page is open in your browser.\n", "")
    link = (tmp_path / "opened").read_text()
    answer = httpx2.get(link)
    assert (answer.status_code, answer.headers["location"].startswith("/#session-key=")) == (303, True)
    assert "pitstop-session-" in answer.headers["set-cookie"]


@pytest.mark.parametrize("arguments", [("ui", "--link"), ("ui",)])
def test_without_a_screen_the_link_is_printed(start, environment, arguments):
    bare = {name: value for name, value in environment.items() if name not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")}
    out, _ = start(*arguments, env=bare | {"PATH": "/nowhere"}).communicate(timeout=30)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/sign-in\?code=[\w-]{40,}\n", out)
