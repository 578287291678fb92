"""A real server with a job that runs, a door for PostgreSQL, and another user of the machine who tries everything."""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx2
import psutil
import psycopg
import pytest

from tests.gateways import gateway
from tests.strangers import NOBODY, as_nobody, as_root

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "fleet"))

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400), as_root]

VIEWER = "the-token-of-viewers"
SETUP = """
CREATE MAPPING counts (__key VARCHAR, rows BIGINT) TYPE IMap;
CREATE MAPPING numbers TYPE Rate;
CREATE JOB counted AS SINK INTO counts SELECT CAST(sequence % 2 AS VARCHAR), COUNT(*) FROM numbers GROUP BY 1
"""
SECONDS = 60.0
"""The longest that an epoch or a query may take on a busy machine: a stranger once stopped them for 15 minutes."""
HANGING_SECONDS = 20.0
"""The longest that a port may keep the connection of somebody who does not know its secret, on a busy machine."""


class Strangers:
    """Another user, who sends nine bytes to each port of these processes as soon as it listens, and again all the time."""

    def __init__(self, *roots):
        self._roots = roots
        self._over, self._open = threading.Event(), []
        self.ports, self.heard = set(), b""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join(30)
        for each in self._open:
            with contextlib.suppress(OSError):
                each.settimeout(0.2)
                self.heard += each.recv(65536)
            each.close()
        assert not self._thread.is_alive()

    def _run(self):
        draw = random.Random(1)
        while not self._over.wait(0.02):
            for port in listening(*self._roots):  # root looks; the other user sees the same in /proc/net/tcp
                if port not in self.ports or draw.random() < 0.05:
                    self.ports.add(port)
                    with contextlib.suppress(OSError), as_nobody():
                        connection = socket.create_connection(("127.0.0.1", port), timeout=1)
                        self._open.append(connection)
                        connection.sendall(draw.choice((b"\0\0\0\5abcde", draw.randbytes(9))))


def processes(*roots):
    found = []
    for root in roots:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [root, *root.children(recursive=True)]
    return found


def listening(*roots):
    """The TCP ports of these processes and all that they have started."""
    found = set()
    for process in processes(*roots):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            found |= {each.laddr.port for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
    return found


def nobody(*command):
    """What a command gives to the other user."""
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "env": {"PATH": "/usr/bin:/bin"}}
    done = subprocess.run(command, **other, capture_output=True, text=True, timeout=60)
    return done.stdout


@pytest.fixture
def open_folder():
    """A folder that all users of the machine may enter, as pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="pitstop-security-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server(open_folder):
    """(the stack, its client, the processes of server, jobs and door, how psycopg connects)"""
    from stack import Stack

    token = open_folder / "viewer-token"
    token.write_text(VIEWER)
    token.chmod(0o600)
    with Stack(open_folder) as stack:
        client = stack.start_server(options=("--viewer-token-file", str(token)))
        client.sql(SETUP)
        client.job("counted").wait_started(200)
        before = {each.pid for each in psutil.Process().children()}
        with gateway(stack.url, VIEWER) as where:
            door = [each for each in psutil.Process().children() if each.pid not in before]
            # Runs are sessions of their own, with the server for their parent while it lives.
            yield stack, client, [psutil.Process(stack._processes["server"].pid), *door], where


def rows(client):
    return sum(int(each["rows"]) for each in client.sql("SELECT rows FROM counts"))


def test_another_user_of_the_machine_stops_nothing_and_reads_nothing(server, open_folder):
    stack, client, roots, where = server
    token = (stack.data / "token").read_text().strip()
    began = rows(client)
    with Strangers(*roots) as strangers:
        for _ in range(3):
            before, asked = rows(client), time.monotonic()
            while rows(client) <= before:
                assert time.monotonic() - asked < SECONDS, "the job stands still"
            assert client.job("counted").status.value == "RUNNING"
            with psycopg.connect(where, password=VIEWER, autocommit=True, connect_timeout=20) as connection:
                assert connection.execute("SELECT COUNT(*) FROM counts WHERE rows > 0").fetchall() == [(2,)]
            assert time.monotonic() - asked < SECONDS
    assert len(strangers.ports) >= 3, "server, door and Spark listen"
    assert token.encode() not in strangers.heard
    assert rows(client) > began

    assert "viewer-token" in nobody("find", str(open_folder), "-maxdepth", "1"), "the other user comes as far as this"
    readable = nobody("find", str(open_folder), "-mindepth", "1", "(", "-readable", "-o", "-writable", ")", "-print").splitlines()
    assert [path for path in readable if path.startswith(str(stack.data))] == []
    for process in processes(*roots):
        for part in ("environ", "fd", "mem", "cwd"):
            assert (
                nobody("sh", "-c", f"cat /proc/{process.pid}/{part} 2>/dev/null; ls /proc/{process.pid}/{part}/ 2>/dev/null")
                == ""
            )
        assert token not in nobody("cat", f"/proc/{process.pid}/cmdline")
    sockets = {each.laddr for process in processes(*roots) for each in _unix(process) if str(each.laddr).startswith("/")}
    assert sockets, "control plane and runs wake one another by sockets"
    assert [path for path in sockets if nobody("sh", "-c", 'test -w "$1" && echo open', "sh", path)] == []
    for path, status in (("/healthz", 200), ("/api/v1/jobs", 401), ("/metrics", 401), ("/api/v1/events", 401)):
        with as_nobody():
            assert httpx2.get(stack.url + path, timeout=30).status_code == status


@pytest.mark.parametrize("members", [0, 1])
def test_each_port_hangs_up_on_another_user_who_does_not_know_its_secret(open_folder, members):
    from stack import Stack

    with Stack(open_folder) as stack:
        client = stack.start_server(members=members)
        client.sql(SETUP)
        client.job("counted").wait_started(200)
        before = rows(client)
        ports = listening(*(psutil.Process(each.pid) for each in stack._processes.values()))
        assert len(ports) >= 3, "server, members and Spark listen"
        assert {port: answer for port in ports if (answer := _answer(port)) not in HUNG_UP} == {}
        asked = time.monotonic()
        while rows(client) <= before:
            assert time.monotonic() - asked < SECONDS, "the job stands still"


HUNG_UP = ("refused", "closed")


def _answer(port):
    """Send nine bytes to a port as the other user: return what becomes of the connection."""
    with as_nobody():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=HANGING_SECONDS) as connection:
                connection.sendall(b"\0\0\0\5abcde")
                while connection.recv(65536):
                    pass
        except TimeoutError:
            return f"open after {HANGING_SECONDS:.0f} s"
        except OSError:
            return "refused"
    return "closed"


def _unix(process):
    try:
        return process.net_connections("unix")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def test_the_other_user_is_another_one():
    assert nobody("id", "-u").strip() == str(NOBODY) != str(os.geteuid())
