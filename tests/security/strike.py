"""One attack after the other, at both doors, by strangers and by a viewer; after each nothing may have come of it."""

from __future__ import annotations

import builtins
import contextlib
import http.client
import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.security.attacks import Attacker
from tests.security.place import MARKER, OPERATOR, VIEWER, Place, Watch, memory, place, watching
from tests.strangers import as_nobody

SECONDS = 30.0
"""The longest that an answer may take: a query of the catalogue may take five."""
MOST_GROWN = 400 << 20
"""Bytes by which the process may grow, both doors, the attacks and their answers together."""
OPEN = {"/healthz", "/readyz", "/openapi.json"}
_TIMED_OUT = 504


class Strike:
    """Attacks on a place, and what came of them."""

    def __init__(self, target: Place, watch: Watch, seed: int) -> None:
        self._target, self._watch = target, watch
        self._attacker = Attacker(seed, str(watch.secret), f"{watch.trap[0]}:{watch.trap[1]}")
        self._paths = _paths(target)
        self._before, self._memory = target.kept(), memory()
        self.answers: Counter[str] = Counter()

    def step(self) -> None:
        """Make one attack at each door."""
        self.statement_at_http()
        self.statement_at_postgres()
        self.packets_at_postgres()
        self.request_of_a_stranger()

    def statement_at_http(self) -> None:
        """As a viewer: an answer or a sentence, and never an error of the server."""
        text = self._attacker.statement()
        status, body = self._ask(
            "POST", "/api/v1/sql", {"Authorization": f"Bearer {VIEWER}", "Content-Type": "application/json"}, _json(text)
        )
        self.answers[f"sql {status}"] += 1
        assert status < 500, f"{text!r}: {status} {body[:500]!r}"
        self._nothing_came(text, body)

    def statement_at_postgres(self) -> None:
        """As a viewer, in both forms of the protocol: rows or an error with its code, and the door goes on."""
        text = self._attacker.statement()
        host, port = self._target.postgres
        asked = {"host": host, "port": port, "user": "viewer", "dbname": "pitstop", "password": VIEWER, "autocommit": True}
        with psycopg.connect(**asked, connect_timeout=20) as connection:  # type: ignore[arg-type]
            simple = self._attacker.random.random() < 0.5
            told: object = None
            try:
                cursor = psycopg.ClientCursor(connection) if simple else connection.cursor()
                cursor.execute(text) if simple else cursor.execute(text, prepare=True)  # type: ignore[call-overload]
                told = cursor.fetchall() if cursor.description else None
                self.answers["postgres rows"] += 1
            except (psycopg.Error, UnicodeEncodeError, ValueError) as error:
                if isinstance(error, psycopg.OperationalError) and not error.sqlstate:
                    pytest.fail(f"the door has gone away without a word: {text!r}: {error}")
                told = str(error)
                self.answers["postgres refused"] += 1
        self._nothing_came(text, repr(told).encode("utf-8", "replace"))

    def packets_at_postgres(self) -> None:
        """As a stranger: bytes of any kind; whatever they are, others are answered."""
        packets = [self._attacker.packet(begun > 0) for begun in range(self._attacker.random.randrange(1, 4))]
        answer = b""
        with _by_nobody(), socket.create_connection(self._target.postgres, timeout=SECONDS) as connection:
            try:
                for packet in packets:
                    connection.sendall(packet)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    answer += part
                    assert len(answer) < 1 << 20, f"{packets!r:.500} is answered without an end"
            except TimeoutError:
                pytest.fail(f"{packets!r:.500} is not answered")
            except OSError:
                pass  # the door has closed the connection
        assert b"\0\0\0\x08\0\0\0\0" not in answer, f"{packets!r:.500} lets a stranger in"
        self.answers["packets"] += 1
        self._nothing_came(repr(packets), answer)

    def request_of_a_stranger(self) -> None:
        """Without a token: nothing but the probes, the description and the empty page."""
        method, path, headers, body = self._attacker.request(self._paths)
        status, answer = self._ask(method, path, headers, body)
        self.answers[f"stranger {status}"] += 1
        told = f"{method} {path} {headers}: {status} {answer[:300]!r}"
        assert status < 500, told
        plain = path.partition("?")[0]
        if status < 400:
            assert plain in OPEN or b'<div id="root">' in answer or status == 304 or not answer, told
        self._nothing_came(told, answer)

    def at_the_end(self) -> None:
        """Everything is as it was, and the doors are open to those who may come in."""
        assert self._target.kept() == self._before
        host, port = self._target.postgres
        with psycopg.connect(host=host, port=port, user="v", dbname="pitstop", password=VIEWER, autocommit=True) as connection:
            assert connection.execute("SELECT owner FROM cars WHERE __key = 'v1'").fetchall() == [("Ada",)]
        grown = memory() - self._memory
        assert grown < MOST_GROWN, f"{grown >> 20} MiB more than before"
        assert not Path(f"{self._watch.secret}x").exists()

    def _nothing_came(self, attack: str, answer: bytes) -> None:
        assert self._watch.seen == [], f"{attack[-1000:]!r}: {self._watch.seen}"
        assert not hasattr(builtins, MARKER), f"{attack[-1000:]!r} was run"
        for word in (OPERATOR, SECRET):
            assert word.encode() not in answer, f"{attack[-1000:]!r} tells {word}"

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        host, port = self._target.http
        connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
        with _by_nobody(), contextlib.closing(connection):
            with contextlib.suppress(ConnectionError):  # a refused request's connection is closed, its body unread
                connection.putrequest(method, path, skip_host="Host" in headers)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    connection.putheader(name, value.encode("latin-1"))
                connection.endheaders()
                connection.send(body)
            try:
                answer = connection.getresponse()
                if answer.headers.get_content_type() == "text/event-stream":
                    return answer.status, b""
                return answer.status, answer.read()
            except (ConnectionError, http.client.HTTPException):
                return 400, b""


SECRET = "what-stands-in-a-file-of-the-server"


def _json(text: str) -> bytes:
    return json.dumps({"statements": text}).encode()


def _by_nobody() -> contextlib.AbstractContextManager[None]:
    """As another user of the machine, where this process may be one."""
    return as_nobody() if os.geteuid() == 0 else contextlib.nullcontext()


def _paths(target: Place) -> list[tuple[str, str]]:
    document = described(target.url)
    return [(method.upper(), path) for path, operations in document["paths"].items() for method in operations]


def described(url: str) -> dict:
    """Return the description of the API."""

    return dict(httpx2.get(f"{url}/openapi.json", timeout=60).json())


@contextlib.contextmanager
def striking(folder: Path, seed: int) -> Iterator[Strike]:
    """Attacks on both doors of a service in this folder; at the end everything is looked at."""
    secret = folder / "secret.txt"
    secret.write_text(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as trap, place(folder) as target:
        with watching(secret, trap.getsockname()[:2]) as watch:
            strike = Strike(target, watch, seed)
            yield strike
        strike.at_the_end()
