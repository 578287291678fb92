"""The token of one's own server is found without being typed, and given to nobody else."""

import contextlib
import socket
import threading
from pathlib import Path

import pytest

from pitstop.cli.context import Call
from pitstop.client import connect, local_server
from pitstop.client.http import HttpService
from pitstop.client.local_server import announced, find_token
from pitstop.errors import DeniedError, UnreachableError
from pitstop.machine.private import write_private
from pitstop.main import pgwire
from pitstop.pgwire import server as pgwire_server
from tests.doors.doors import serving
from tests.strangers import as_nobody, as_root

TOKEN = "made-at-first-start"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("PITSTOP_TOKEN", "PITSTOP_DATA", "PITSTOP_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(local_server, "HOME", tmp_path / "home" / ".pitstop")
    return tmp_path / "home"


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "a data folder" / "token"
    path.parent.mkdir()
    write_private(path, TOKEN + "\n")
    return path


def port_of(url):
    return int(url.rsplit(":", 1)[1])


def test_wherever_the_data_folder_is(state, token_file):
    with serving(state, TOKEN) as url, announced(port_of(url), token_file), connect(url) as client:
        assert client.jobs() == []


def test_by_the_variable_that_names_the_data_folder(state, token_file, monkeypatch):
    monkeypatch.setenv("PITSTOP_DATA", str(token_file.parent))
    with serving(state, TOKEN) as url, connect(url) as client:
        assert client.jobs() == []


def test_what_was_left_of_a_server_is_gone_with_it(token_file, home):
    with announced(1234, token_file):
        word = home / ".pitstop" / "servers" / "1234"
        assert word.stat().st_mode & 0o077 == 0
        assert word.parent.stat().st_mode & 0o077 == 0
    assert list(word.parent.iterdir()) == []


def test_a_client_finds_the_token_of_the_server_that_came_after(state, token_file, tmp_path):
    other = tmp_path / "other"
    write_private(other, "another-token")
    with serving(state, TOKEN) as url, announced(port_of(url), token_file):
        client = connect(url)
        assert client.jobs() == []
    with serving(state, "another-token", port=port_of(url)), announced(port_of(url), other):
        assert client.jobs() == []


@as_root
def test_another_user_who_has_taken_the_port_does_not_get_it(token_file):
    with as_nobody():
        thief = socket.create_server(("127.0.0.1", 0))
    with thief, announced(thief.getsockname()[1], token_file):
        assert find_token("127.0.0.1", thief.getsockname()[1]) is None


@contextlib.contextmanager
def thief_at(port):
    """Another user's process at that port; yields what it is sent, which it answers with 503."""
    heard = []
    with as_nobody():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()

    def listen():
        with contextlib.suppress(OSError):
            while True:
                with listener.accept()[0] as connection:
                    connection.settimeout(10)
                    heard.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield heard
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


ASKING = {
    "a request": lambda service: service.jobs(),
    "statements": lambda service: list(service.sql("SHOW JOBS")),
    "the events": lambda service: next(service.changes(("job",))),
}


@as_root
@pytest.mark.parametrize("asking", ASKING)
def test_nor_one_who_takes_it_from_a_server_that_the_client_knows(state, token_file, asking):
    with serving(state, TOKEN) as url, announced(port_of(url), token_file):
        service = HttpService(url)
        assert service.jobs() == []
    refused = pytest.raises(UnreachableError, match="Your server at 127")
    with thief_at(port_of(url)) as heard, announced(port_of(url), token_file), refused:
        ASKING[asking](service)
    assert TOKEN.encode() not in b"".join(heard)


@as_root
def test_a_connection_to_another_user_is_not_used_once_the_own_server_is_back(state, token_file):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    service = HttpService(f"http://127.0.0.1:{port}")
    with thief_at(port) as heard, pytest.raises(UnreachableError):
        service.jobs()
    assert b"connection: close" in heard[0].lower()
    with serving(state, TOKEN, port=port), announced(port, token_file):
        assert service.jobs() == []


def test_the_door_for_postgresql_finds_the_token_anew_for_each_client(state, token_file, tmp_path, monkeypatch):
    listening = {}

    async def listen(host, port, token, open_service, ready):
        listening.update(token=token, open_service=open_service)

    monkeypatch.setattr(pgwire_server, "listen", listen)
    with serving(state, TOKEN) as url, announced(port_of(url), token_file):
        pgwire.pgwire(Call(url=url))
        assert listening["token"]() == TOKEN
    assert listening["token"]() is None
    other = tmp_path / "other"
    write_private(other, "another-token")
    with serving(state, "another-token", port=port_of(url)), announced(port_of(url), other):
        assert listening["token"]() == "another-token"
        assert listening["open_service"]().jobs() == []


def test_nor_does_another_machine(token_file):
    with socket.create_server(("0.0.0.0", 0)) as listener, announced(listener.getsockname()[1], token_file):
        assert find_token("127.0.0.1", listener.getsockname()[1]) == TOKEN
        assert find_token("example.org", listener.getsockname()[1]) is None


def test_a_token_that_others_may_read_is_not_taken(state, token_file):
    token_file.chmod(0o644)
    with serving(state, TOKEN) as url, announced(port_of(url), token_file), pytest.raises(DeniedError):
        connect(url).jobs()


def test_a_home_that_cannot_be_written_keeps_no_server_from_starting(token_file, monkeypatch):
    monkeypatch.setattr(local_server, "HOME", Path("/proc/nowhere"))
    with announced(1234, token_file):
        pass
