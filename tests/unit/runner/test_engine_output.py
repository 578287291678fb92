"""A line of an engine's JVM goes to the process whose job it is about."""

import json
import os
import subprocess
import sys

PROGRAM = """
import json, os, sys
from pathlib import Path
from pitstop.runner.engine_output import EngineOutput

output = EngineOutput()
output.route("client-1", Path(sys.argv[1]))
output.route("client-2", Path(sys.argv[2]))
for line in json.loads(sys.argv[3]):
    os.write(2, line.encode() + b"\\n")
os.write(2, b"the last line\\n")
import time
while "the last line" not in Path(sys.argv[4]).read_text():
    time.sleep(0.01)
"""


def line(thread, client=None, of_task=None):
    facts = {"engine_client": client, "task_client": of_task}
    fact = "".join(f',"{key}":"{value}"' for key, value in facts.items() if value)
    return f'{{"time":"2026-11-28T11:10:31,963","level":"WARN","msg":"m","thread":"{thread}"{fact}}}'


def printed(tmp_path, lines):
    """Return what reaches the logs of two processes, and the engine's own."""
    paths = [tmp_path / name for name in ("one", "two", "own")]
    for path in paths:
        path.touch()
    with paths[2].open("wb") as own:
        command = [sys.executable, "-c", PROGRAM, str(paths[0]), str(paths[1]), json.dumps(lines), str(paths[2])]
        subprocess.run(command, check=True, stderr=own, timeout=60, env=dict(os.environ))
    return [path.read_text().splitlines() for path in paths]


def test_lines_of_queries_and_tasks_reach_their_processes_without_the_mark(tmp_path):
    query, task = "stream execution thread for [id = 1, runId = 2]", "Executor task launch worker for task 1.0"
    one, two, own = printed(tmp_path, [line(query, "client-1"), line(task, "client-2"), line(query, "client-1")])
    assert one == [line(query)] * 2
    assert two == [line(task)]
    assert own == ["the last line"]


def test_a_line_of_a_task_goes_to_the_process_of_the_task_whoever_has_started_its_thread(tmp_path):
    task = "Executor task launch worker for task 1.0"
    one, two, own = printed(tmp_path, [line(task, None, "client-1"), line(task, "client-1", "client-2")])
    assert (one, two, own) == ([line(task)], [line(task)], ["the last line"])


def test_lines_of_pools_of_the_engine_and_of_processes_that_have_gone_stay_in_its_own_log(tmp_path):
    pool, query = "state-store-maintenance-task", "stream execution thread for [id = 1, runId = 2]"
    one, two, own = printed(tmp_path, [line(pool, "client-1"), line(query, "client-9"), line(query), "text"])
    assert one == two == []
    assert own == [line(pool), line(query), line(query), "text", "the last line"]
