"""The server's side of queries, with a process in the place of Spark's that answers as it is asked to."""

import json
import sys
import threading
from types import SimpleNamespace

import psutil
import pytest

from pitstop.errors import BusyError, EngineError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.launchers import queries, query_answers, query_child
from pitstop.launchers.queries import QueryProcess, QueryProcesses
from pitstop.launchers.spent_seconds import SpentSeconds
from pitstop.machine.rotating import Rotation
from pitstop.model.data_folder import DataFolder
from pitstop.model.selecting import OPERATOR, Asker, Select
from tests.unit.launchers.test_spent_seconds import HandClock

PROCESS = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys

work = pathlib.Path(sys.argv[sys.argv.index("--work") + 1])

def say(**told):
    print(json.dumps(told), flush=True)

def note(text):
    with (work / "noted").open("a") as file:
        file.write(text + "\\n")

endless = set()
note("started")
say(ready=True)
for line in sys.stdin:
    told = json.loads(line)
    if "select" not in told:
        note(line.strip())
        if "cancel" in told and told["cancel"] not in endless:
            say(id=told["cancel"], end=True)
        continue
    number, query = told["select"]["id"], told["select"]["query"]
    if query == "endless":
        endless.add(number)
    if query == "gone":
        os._exit(1)
    if query == "blamed":
        say(blamed=number)
        os._exit(75)
    if query == "once":
        first = not (work / "second").exists()
        (work / "second").touch()
        if first:
            continue
    if query == "stuck":
        note(str(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid))
        say(id=number, error={{"code": "USAGE", "message": "The query took more than 1 seconds."}})
        os._exit(75)
    say(id=number, columns=[["n", "int"]])
    if query == "limits":
        say(id=number, rows=[[told["select"][name] for name in ("seconds", "limit")]])
        say(id=number, end=True)
        continue
    if query == "quiet":
        continue
    say(id=number, rows=[[1]])
    if query == "short":
        say(id=number, end=True)
"""


@pytest.fixture
def process(tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text(PROCESS)
    program.chmod(0o700)
    monkeypatch.setattr(queries, "sys", SimpleNamespace(executable=str(program)))
    made = QueryProcess(DataFolder(tmp_path), "sqlite://", {}, Rotation())
    yield made
    made.close()


ADA, BOB = Asker(True, "session ada"), Asker(True, "session bob")


@pytest.fixture
def both(process, tmp_path):
    """The process of operators, and beside it that of viewers."""
    made = QueryProcesses(process, QueryProcess(DataFolder(tmp_path), "sqlite://", {}, Rotation(), viewers=True))
    yield made
    made.close()


def run(process, query, asker=OPERATOR):
    return process.run(lambda number: Select(number, query, 1, 1), asker)


def noted(tmp_path):
    return (DataFolder(tmp_path).queries / "noted").read_text().split("\n")[:-1]


def begins(process):
    try:
        list(run(process, "short"))
    except BusyError:
        return False
    return True


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_rows_come_in_order_until_the_end(process):
    assert list(run(process, "short")) == [{"id": 1, "columns": [["n", "int"]]}, {"id": 1, "rows": [[1]]}]


def test_there_are_so_many_open_queries_and_no_more(process, monkeypatch):
    monkeypatch.setattr(queries, "MOST_OPEN", 2)
    first, _ = run(process, "long"), run(process, "long")
    with pytest.raises(BusyError, match="2 queries have not ended yet, which is as many as there may be: ask again later"):
        run(process, "long")
    first.close()
    assert wait_until(lambda: begins(process), 30)


def test_one_that_nobody_asks_for_counts_until_its_process_has_ended_it(process, monkeypatch):
    monkeypatch.setattr(queries, "MOST_OPEN", 1)
    run(process, "endless").close()
    assert not begins(process)


@pytest.mark.parametrize("query", ["long", "short"])
def test_a_query_whose_rows_nobody_takes_is_ended_and_who_comes_later_is_told(process, tmp_path, monkeypatch, query):
    monkeypatch.setattr(queries, "MOST_OPEN", 1)
    monkeypatch.setattr(query_child, "UNTAKEN_SECONDS", 0.2)
    left = run(process, query)
    next(left)
    assert wait_until(lambda: json.dumps({"cancel": 1}) in noted(tmp_path), 30)
    assert wait_until(lambda: begins(process), 30)
    with pytest.raises(UsageError, match="Nobody has taken rows of the query for 0 seconds: it was ended"):
        next(left)


def test_who_waits_for_rows_takes_them(process, monkeypatch):
    monkeypatch.setattr(query_child, "UNTAKEN_SECONDS", 0.2)
    monkeypatch.setattr(query_answers, "QUIET_SECONDS", 0.6)
    quiet = run(process, "quiet")
    assert [next(quiet) for _ in range(3)] == [{"id": 1, "columns": [["n", "int"]]}, {"quiet": True}, {"quiet": True}]


def test_who_waits_for_rows_of_a_query_that_another_one_ends_is_woken(process):
    quiet = run(process, "quiet")
    next(quiet)
    found = []
    waiting = threading.Thread(target=lambda: found.extend(quiet), daemon=True)
    waiting.start()
    quiet.close()
    waiting.join(query_answers.QUIET_SECONDS / 2)
    assert not waiting.is_alive()
    assert found == []


def test_what_cannot_be_ended_is_told_and_ended_with_all_that_its_process_has_started(process, tmp_path):
    with pytest.raises(UsageError, match="took more than 1 seconds"):
        next(run(process, "stuck"))
    _, child = noted(tmp_path)
    assert wait_until(lambda: not runs(int(child)), 30)
    assert list(run(process, "short"))
    assert noted(tmp_path).count("started") == 2


def test_a_query_whose_process_ends_without_a_word_is_begun_once_more(process, tmp_path):
    with pytest.raises(EngineError, match="The process that carries out queries has ended"):
        next(run(process, "gone"))
    assert noted(tmp_path) == ["started", "started"]


def test_viewers_have_a_process_of_their_own_and_what_ends_it_ends_no_query_of_operators(both, tmp_path):
    operators = run(both, "quiet")
    next(operators)
    with pytest.raises(EngineError):
        next(run(both, "gone", ADA))
    assert (DataFolder(tmp_path).viewer_queries / "noted").read_text().split() == ["started", "started"]
    assert noted(tmp_path) == ["started"]
    operators.close()
    assert list(run(both, "short"))[1]["rows"] == [[1]]


def test_a_viewer_has_so_many_queries_at_once_and_others_theirs(both, monkeypatch):
    monkeypatch.setattr(queries, "MOST_OF_ONE", 2)
    first, _ = run(both, "long", ADA), run(both, "long", ADA)
    with pytest.raises(BusyError, match="2 queries of yours have not ended, which is as many as you may have: ask later"):
        run(both, "long", ADA)
    assert list(run(both, "short", BOB))
    assert [list(run(both, "short")) for _ in range(3)]
    first.close()
    assert wait_until(lambda: _comes(both, ADA), 30)


def limits(process, asker=OPERATOR):
    (row,) = next(answer["rows"] for answer in run(process, "limits", asker) if "rows" in answer)
    return row


@pytest.fixture
def short(process, tmp_path):
    """Processes whose viewers have 20 s a query and 30 s an hour."""
    of_viewers = QueryProcess(DataFolder(tmp_path), "sqlite://", {}, Rotation(), 20.0, viewers=True, hour_seconds=30.0)
    made = QueryProcesses(process, of_viewers)
    yield made
    made.close()


def test_a_viewers_query_has_a_limit_of_its_own(short):
    assert limits(short) == [600.0, "--query-seconds"]
    assert limits(short, ADA) == [20.0, "--viewer-query-seconds"]


def test_queries_of_one_viewer_have_so_many_seconds_an_hour_and_those_of_others_theirs(short, monkeypatch):
    clock = HandClock()
    spent = SpentSeconds(30.0, clock)
    monkeypatch.setattr(short._viewers, "_spent", spent)

    def none_goes_on():
        return all(query.ended is not None for query in spent._queries.values())

    first = run(short, "quiet", ADA)
    clock.now += 18
    first.close()
    assert wait_until(none_goes_on, 30)
    assert limits(short, ADA) == [12.0, "--viewer-seconds-per-hour"]
    assert wait_until(none_goes_on, 30)
    second = run(short, "quiet", ADA)
    clock.now += 12
    with pytest.raises(BusyError) as raised:
        run(short, "short", ADA)
    assert raised.value.message == (
        "Your queries have taken 30 seconds within an hour, which is as many as those of one viewer may take: ask again in "
        "3571 seconds, or have the server started with more --viewer-seconds-per-hour."
    )
    assert list(run(short, "short", BOB))
    assert list(run(short, "short"))
    second.close()
    assert wait_until(lambda: not short._viewers._process.going, 30)
    clock.now += 3600
    assert list(run(short, "short", ADA))


def test_a_query_whose_process_is_gone_takes_no_more_of_its_viewers_time(short, monkeypatch):
    clock = HandClock()
    monkeypatch.setattr(short._viewers, "_spent", SpentSeconds(30.0, clock))
    with pytest.raises(EngineError):
        next(run(short, "gone", ADA))
    clock.now += 20
    assert limits(short, ADA)[0] == 20.0


def _comes(both, asker):
    try:
        return bool(list(run(both, "short", asker)))
    except BusyError:
        return False


def test_what_ends_its_process_each_time_is_told_the_cause_in_the_end(both, tmp_path):
    with pytest.raises(EngineError, match=r"was ended because another query went on after its end: ask again\. queries\.log in"):
        next(run(both, "blamed"))
    assert noted(tmp_path).count("started") == 1 + query_answers.MOST_ANEW


def test_innocent_queries_outlive_more_than_one_end_of_their_process_and_whoever_caused_it_waits(both, monkeypatch):
    monkeypatch.setattr(query_answers, "MOST_ANEW", 3)
    innocent, found = run(both, "once", BOB), []
    reading = threading.Thread(target=lambda: found.extend(next(innocent) for _ in range(2)), daemon=True)
    reading.start()
    run(both, "blamed", ADA)
    reading.join(30)
    assert found[1]["rows"] == [[1]]
    innocent.close()
    with pytest.raises(BusyError, match=r"ended only with the process that carries queries out: ask again in \d+ seconds"):
        run(both, "short", ADA)
    assert list(run(both, "short", BOB))
    monkeypatch.setattr(queries.time, "monotonic", lambda now=queries.time.monotonic: now() + queries.BARRED_SECONDS)
    assert list(run(both, "short", ADA))
