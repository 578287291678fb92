"""Lines of logs: JSON where a program reads them, words on a terminal."""

import json
import logging
import os
import subprocess
import sys
import threading

from pitstop.machine.log_lines import OF_ONE_JOB, Line
from pitstop.machine.logs import FACTS, as_line, lines_with

LINE = {
    "time": "2026-11-22T12:24:59,753",
    "level": "WARN",
    "logger": "pitstop.server",
    "msg": "Job 'a'\x1b[2J is late",
    "thread": "control",
    "job": "a",
    "pid": 17,
    "error": "Traceback\n  File x",
}
LOGS = "import logging\nfrom pitstop.machine.logs import show\nshow()\nlogging.getLogger('pitstop.x').warning('one line')"


def test_a_line_for_people_has_time_level_logger_message_facts_and_the_trace_below():
    line = Line.of(json.dumps(LINE))
    words = "2026-11-22 12:24:59.753 WARN  pitstop.server: Job 'a'\\u001b[2J is late"
    assert line.text() == f"{words} thread=control job=a pid=17\n    Traceback\n      File x"
    assert line.text(OF_ONE_JOB) == f"{words} pid=17\n    Traceback\n      File x"


def test_what_is_no_json_is_shown_as_it_is():
    assert Line.of("plain words").text() == "plain words"
    assert Line.of("[1]").text() == "[1]"


def test_a_process_logs_json_where_a_program_reads():
    logged = subprocess.run([sys.executable, "-c", LOGS], capture_output=True, text=True, check=True, timeout=60).stderr
    assert json.loads(logged)["msg"] == "one line"


def test_a_process_logs_words_on_a_terminal():
    terminal, end = os.openpty()
    try:
        subprocess.run([sys.executable, "-c", LOGS], stderr=end, check=True, timeout=60)
        logged = os.read(terminal, 10_000).decode()
    finally:
        os.close(terminal)
        os.close(end)
    assert logged.rstrip("\r\n").endswith("WARN  pitstop.x: one line")
    assert "{" not in logged


def facts_of_a_line(**facts):
    record = logging.makeLogRecord({"msg": "words", "levelno": logging.INFO, FACTS: facts})
    line = json.loads(as_line(record))
    return {name: line[name] for name in ("epoch", "stage") if name in line}


def test_lines_of_a_thread_have_the_keys_of_the_work_that_it_does():
    elsewhere = []
    with lines_with(epoch=3):
        with lines_with(stage="out"):
            assert facts_of_a_line() == {"epoch": 3, "stage": "out"}
            assert facts_of_a_line(stage="own") == {"epoch": 3, "stage": "own"}
            thread = threading.Thread(target=lambda: elsewhere.append(facts_of_a_line()))
            thread.start()
            thread.join()
        assert facts_of_a_line() == {"epoch": 3}
    assert (facts_of_a_line(), elsewhere) == ({}, [{}])
