"""Logs that are rotated: nothing is lost, nothing comes twice, whoever writes and reads meanwhile."""

import json
import os
import random
import subprocess
import sys
import threading
import time

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.machine import rotating
from pitstop.machine.rotating import RotatingLog, Rotation, full_parts, read_from, start_pump

SMALL = Rotation(most_bytes=100, kept=3)
ALL = Rotation(most_bytes=2000, kept=10_000)


def everything(log, position=0, most=64):
    """(what is read page by page, position of its first byte, position after it)."""
    found, first = b"", None
    while True:
        begin, page = read_from(log, position, most)
        first = begin if first is None else first
        if not page:
            return found, first, begin
        found, position = found + page, begin + len(page)


def pump(log, rotation=ALL, facts=None, moves_to=None):
    return start_pump(log, rotation, facts or {}, moves_to)


def records(log):
    return [json.loads(line) for line in everything(log, most=1 << 20)[0].splitlines()]


def test_a_log_that_is_not_there_is_empty(tmp_path):
    assert read_from(tmp_path / "no.log", 0, 10) == (0, b"")
    assert read_from(tmp_path / "no.log", 7, 10) == (0, b"")


def test_positions_go_on_through_parts_and_their_sizes_are_bounded(tmp_path):
    log = tmp_path / "runner.log"
    writer, lines = RotatingLog(log, Rotation(100, 1000)), [b"%04d %s\n" % (i, b"x" * (i % 40)) for i in range(200)]
    for line in lines:
        writer.write(line)
    whole = b"".join(lines)
    assert everything(log) == (whole, 0, len(whole))
    assert len(full_parts(log)) > 10
    assert all(part.size <= 100 for part in full_parts(log))
    for position in range(0, len(whole), 97):
        assert everything(log, position)[0] == whole[position:]
    for beyond in (len(whole) + 5, 2**44, 2**63 - 1):
        assert read_from(log, beyond, 10) == (len(whole), b"")


def test_only_so_many_parts_are_kept_and_who_comes_late_begins_at_the_oldest(tmp_path):
    log = tmp_path / "runner.log"
    writer = RotatingLog(log, SMALL)
    lines = [b"%09d\n" % i for i in range(100)]
    for line in lines:
        writer.write(line)
    assert len(full_parts(log)) == 3
    found, first, end = everything(log, 10)
    assert (first, end) == (1000 - len(found), 1000)
    assert found == b"".join(lines)[first:]
    assert 300 < len(found) <= 400


def test_a_line_that_is_longer_than_a_part_has_one_of_its_own(tmp_path):
    log = tmp_path / "runner.log"
    writer = RotatingLog(log, SMALL)
    for line in (b"a\n", b"y" * 500 + b"\n", b"b\n"):
        writer.write(line)
    assert [part.size for part in full_parts(log)] == [2, 501]
    assert everything(log)[0] == b"a\n" + b"y" * 500 + b"\nb\n"


def test_the_log_of_a_release_that_never_rotated_is_its_first_part(tmp_path):
    log = tmp_path / "runner.log"
    log.write_bytes(b"old line\n" * 50 + b"cut off")
    RotatingLog(log, SMALL).write(b"new\n")
    assert everything(log) == (b"old line\n" * 50 + b"cut off\nnew\n", 0, 462)


def test_a_log_that_was_removed_begins_anew(tmp_path):
    log = tmp_path / "runner.log"
    writer = RotatingLog(log, SMALL)
    writer.write(b"one\n")
    log.unlink()
    writer.write(b"two\n")
    assert everything(log)[0] == b"two\n"


def test_two_writers_and_a_reader_at_once_lose_and_mix_no_line(tmp_path):
    log = tmp_path / "runner.log"
    each, names = 3000, ("a", "b")
    random_of = {name: random.Random(name) for name in names}
    lines = {name: [f"{name} {i} {'.' * random_of[name].randrange(60)}\n".encode() for i in range(each)] for name in names}

    def write(name):
        writer = RotatingLog(log, ALL)
        for line in lines[name]:
            writer.write(line)

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    found, position = b"", 0
    while True:
        alive = any(thread.is_alive() for thread in threads)
        begin, page = read_from(log, position, 5000)
        assert begin == position
        found, position = found + page, begin + len(page)
        if not page and not alive:
            break
    seen = found.splitlines(keepends=True)
    assert [line for line in seen if line.startswith(b"a")] == lines["a"]
    assert [line for line in seen if line.startswith(b"b")] == lines["b"]
    assert len(seen) == 2 * each
    assert len(full_parts(log)) > 50


def test_nobody_else_may_read_it(tmp_path):
    RotatingLog(tmp_path / "runner.log", SMALL).write(b"x\n")
    assert (tmp_path / "runner.log").stat().st_mode & 0o077 == 0


def test_what_comes_through_the_pipe_is_json_with_the_facts_of_the_run(tmp_path):
    log = tmp_path / "runner.log"
    process = pump(log, facts={"job": "käse", "run": 3})
    ours = json.dumps({"time": "2026-01-01T00:00:00,000", "level": "WARN", "logger": "a.b", "msg": "x}", "stage": "s"})
    process.communicate(f'{ours}\nplain ä \x1b[1m\n\n{{"not": "ours"}}\nno end'.encode() + b"\xff")
    found = records(log)
    assert found[0] == json.loads(ours) | {"job": "käse", "run": 3}
    assert [(line["level"], line["logger"], line["msg"]) for line in found[1:]] == [
        ("INFO", "output", "plain ä \x1b[1m"),
        ("INFO", "output", '{"not": "ours"}'),
        ("INFO", "output", "no end\ufffd"),
    ]
    assert {(line["job"], line["run"]) for line in found} == {("käse", 3)}


GOODBYE = [
    "Traceback (most recent call last):",
    '  File "/venv/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager',
    '  File "/venv/lib/python3.11/site-packages/pyspark/daemon.py", line 95, in worker',
    "    outfile.flush()",
    "BrokenPipeError: [Errno 32] Broken pipe",
]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["a", *GOODBYE, "b", *GOODBYE], ["a", "b"]),
        ([*GOODBYE[:-1], "ValueError: x", "b"], [*GOODBYE[:-1], "ValueError: x", "b"]),
        ([GOODBYE[0], '  File "/home/me/job.py", line 1, in sink', *GOODBYE[2:]], None),
        ([GOODBYE[0], *GOODBYE], [GOODBYE[0]]),
        ([GOODBYE[-1]], [GOODBYE[-1]]),
        (GOODBYE[:2], GOODBYE[:2]),
    ],
    ids=["twice", "another error", "a user's own", "within another trace", "no trace", "one that breaks off"],
)
def test_a_trace_of_sparks_daemon_that_java_has_hung_up_is_left_out_and_no_other(tmp_path, lines, left):
    log = tmp_path / "runner.log"
    process = pump(log)
    for line in lines:  # as they come, each by itself
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()
    process.stdin.close()
    assert process.wait(10) == 0
    assert [record["msg"] for record in records(log)] == (lines if left is None else left)


def test_the_epoch_in_a_line_of_java_becomes_a_number(tmp_path):
    log = tmp_path / "runner.log"
    process = pump(log, facts={"job": "j"})
    process.stdin.write(b'{"time":"2026-11-30T02:00:00,000","msg":"a \\"epoch\\":\\"7\\"","epoch":"12"}\n')
    process.stdin.close()
    assert process.wait(10) == 0
    (line,) = map(json.loads, log.read_text().splitlines())
    assert line == {"time": "2026-11-30T02:00:00,000", "msg": 'a "epoch":"7"', "epoch": 12, "job": "j"}


def test_the_last_words_of_a_process_that_is_killed_are_written(tmp_path):
    log = tmp_path / "runner.log"
    process = pump(log)
    program = "import os, signal; os.write(1, b'last words\\n'); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", program], stdout=process.stdin, check=False)
    process.stdin.close()
    assert process.wait(30) == 0
    assert [line["msg"] for line in records(log)] == ["last words"]


def test_lines_go_where_the_run_belongs_once_that_is_known(tmp_path):
    spare, job, moves = tmp_path / "spare.log", tmp_path / "runner.log", tmp_path / "moves.json"
    process = pump(spare, facts={}, moves_to=moves)
    process.stdin.write(b"warming up\n")
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not records(spare):
        assert time.monotonic() < deadline
    moves.write_text(json.dumps({"log": str(job), "facts": {"job": "j", "run": 1}}))
    process.communicate(b"of the job\n")
    assert [line["msg"] for line in records(spare)] == ["warming up"]
    assert [(line["msg"], line["job"]) for line in records(job)] == [("of the job", "j")]


def test_many_writers_of_long_lines_into_one_pipe_do_not_mix_while_it_has_room(tmp_path):
    log = tmp_path / "runner.log"
    process = pump(log)
    program = "import os, sys\nfor i in range(8): os.write(1, (sys.argv[1] * 20000 + '\\n').encode())"
    writers = [subprocess.Popen([sys.executable, "-c", program, letter], stdout=process.stdin) for letter in "abc"]
    for writer in writers:
        assert writer.wait(60) == 0
    process.stdin.close()
    assert process.wait(30) == 0
    texts = [line["msg"] for line in records(log)]
    assert sorted(texts) == sorted(letter * 20000 for letter in "abc" for _ in range(8))


def test_what_a_full_disk_does_not_take_is_told_of_afterwards(tmp_path, monkeypatch):
    log = tmp_path / "runner.log"
    destination = rotating._Destination(log, ALL, {}, None)
    destination.write(b"before\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        destination.write(b"lost\n")
    destination.write(b"after\n")
    messages = [line["msg"] for line in records(log)]
    assert messages[0] == "before"
    assert messages[2] == "after"
    assert "bytes of this log are lost" in messages[1]


@pytest.mark.parametrize("kept", [0, -1])
def test_at_least_one_part_is_kept_or_positions_would_be_lost(kept):
    with pytest.raises(ValueError, match="at least one"):
        Rotation(100, kept)


def test_lines_of_a_job_are_printed_too_once_it_is_known_whose_they_are(tmp_path, capfd):
    log, moves_to = tmp_path / "spare.log", tmp_path / "moves"
    with pump(log, Rotation(printed=True), moves_to=moves_to) as writer:
        writer.stdin.write(b"of nobody yet\n")
        writer.stdin.flush()
        assert wait_until(lambda: log.exists() and records(log), 10)
        moves_to.write_text(json.dumps({"log": str(tmp_path / "job.log"), "facts": {"job": "orders"}}))
        writer.stdin.write(b"of a job\n")
    printed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(each["msg"], each["job"]) for each in printed] == [("of a job", "orders")]
    assert records(tmp_path / "job.log") == printed
