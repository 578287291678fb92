"""The command line against a real server: Jet's layouts to the column, and every error one sentence."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import uvicorn

from pitstop.launchers.local_process import LocalProcessLauncher
from pitstop.model.job import Job, JobConfig, JobSource, JobState
from pitstop.model.snapshot import SnapshotRecord
from pitstop.rest.app import create_app
from pitstop.service.local import Changes, LocalService
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry

TOKEN = "a-long-token"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    database = open_database(sqlite_url(folder / "p.db"))
    registry, url = SqlRegistry(database), sqlite_url(folder / "p.db")
    launcher = LocalProcessLauncher(folder, url, lambda: None, spares=0)
    info = lambda: {"state": "ACTIVE", "version": "0", "size": 1, "members": [{"address": "h:1", "uuid": "u"}]}  # noqa: E731
    service = LocalService(registry, SqlMapStore(database), launcher, folder, lambda: None, Changes(), info)
    running = uvicorn.Server(uvicorn.Config(create_app(service, TOKEN), port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield registry, f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(5)


@pytest.fixture
def cli(server):
    def call(*arguments, token=TOKEN, url=server[1]):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PITSTOP_")}
        command = [str(Path(sys.executable).with_name("pitstop")), "--url", url, *(["--token", token] if token else [])]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    return call


def add_job(registry, job_id, name, state):
    registry.add_job(Job(job_id, name, state, JobSource("a.py"), JobConfig(), 1584283021.011))


def test_list_snapshots_has_the_manuals_columns(server, cli):
    registry, _ = server
    registry.add_snapshot(SnapshotRecord("snapshot-v1", "0401-9f77-b9c0-0001", "hello-world", 1584283021.011, 1196, "/x", 3))
    registry.add_snapshot(
        SnapshotRecord("snapshot-v2", "0401-9f77-b9c0-0001", "a-name-of-more-than-24-letters", 1.5, 10, "/x", 3)
    )
    code, out, _ = cli("list-snapshots")
    assert code == 0
    assert out.splitlines() == [
        "TIME                    SIZE (bytes)    JOB NAME                 SNAPSHOT NAME",
        "2020-03-15T14:37:01.011 1,196           hello-world              snapshot-v1",
        "1970-01-01T00:00:01.500 10              a-name-of-more-than-24-* snapshot-v2",
    ]
    assert "a-name-of-more-than-24-letters snapshot-v2" in cli("list-snapshots", "-F")[1]


def test_list_jobs_has_jets_columns_and_hides_ended_jobs_unless_asked(server, cli):
    registry, _ = server
    add_job(registry, "0401-9f77-b9c0-0001", "hello-world", JobState.RUNNING)
    add_job(registry, "0401-9f77-b9c0-0002", "gone", JobState.FAILED)
    line = "0401-9f77-b9c0-0001 RUNNING            2020-03-15T14:37:01.011 hello-world"
    assert cli("list-jobs")[1].splitlines() == ["ID                  STATUS             SUBMISSION TIME         NAME", line]
    assert "FAILED" in cli("list-jobs", "-a")[1]
    _, out, _ = cli("-o", "json", "list-jobs")
    assert [job["status"] for job in json.loads(out)] == ["RUNNING"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cancel", "nosuch"), "No job with name or id 'nosuch' was found"),
        (("resume", "hello-world"), "Job 'hello-world' is not suspended. Current state: RUNNING"),
        (("suspend", "gone"), "Job 'gone' is not running. Current state: FAILED"),
        (("save-snapshot", "gone", "s"), "Job 'gone' is not active. Current state: FAILED"),
        (("delete-snapshot", "nosuch"), "Didn't find a snapshot named 'nosuch'"),
        (("submit", "/no/such/file.py"), "File /no/such/file.py could not be found."),
        (("submit", "-O", "partitions", __file__), "-O takes key=value, not 'partitions'."),
        (("submit", "-O", "colour=red", __file__), "Unknown job option: colour."),
        (("submit", "-s", "nosuch", __file__), "Didn't find a snapshot named 'nosuch'"),
        (("map", "get", "m", "nosuch"), "Map 'm' has no entry 'nosuch'."),
        (("logs", "hello-world", "--grep", "("), "--grep '(' is no regular expression"),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_exit_code_one(cli, arguments, message):
    code, out, err = cli(*arguments)
    assert code == 1
    assert err.startswith(f"ERROR: {message}")
    assert err.splitlines()[1:] == ["", "To see the full stack trace, re-run with the -v/--verbosity option"]
    assert "Traceback" not in out + err


def test_a_wrong_token_and_an_unreachable_server_are_told(cli):
    assert "The token is missing or wrong" in cli("list-jobs", token="wrong-token")[2]
    code, _, err = cli("list-jobs", url="http://127.0.0.1:9")
    assert (code, "No Pitstop server answers at http://127.0.0.1:9" in err) == (1, True)


def test_wrong_usage_is_exit_code_two(cli):
    assert cli("no-such-command")[0] == 2
    assert cli("-o", "xml", "list-jobs")[0] == 2


def test_maps_are_read_and_written(cli):
    assert cli("map", "put", "cars", "a", '{"x": 1}')[0] == 0
    assert cli("map", "put", "cars", "b", "plain text")[0] == 0
    assert cli("map", "get", "cars", "a")[1] == '{"x": 1}\n'
    assert cli("map", "size", "cars")[1] == "2\n"
    assert cli("map", "entries", "cars")[1].splitlines() == ['a\t{"x": 1}', 'b\t"plain text"']
    assert [line.split()[2:4] for line in cli("map", "journal", "cars")[1].splitlines()[1:]] == [["ADDED", "a"], ["ADDED", "b"]]
    assert cli("map", "delete", "cars", "a")[0] == 0
    assert cli("map", "delete", "cars", "a")[0] == 1
