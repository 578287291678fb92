"""Random statements of a viewer at a real server, whose Spark carries out what may be carried out."""

import os
import socket
import sys
import threading
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from tests.security.attacks import Attacker
from tests.security.strike import SECRET

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "fleet"))

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1500)]

VIEWER = "the-token-of-viewers"
STATEMENTS = int(os.environ.get("PITSTOP_SECURITY_STATEMENTS", "40"))
SETUP = "CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT) TYPE IMap; SINK INTO cars VALUES ('v1', 'Ada', 1)"
REACHING = (
    """xpath_string('<!DOCTYPE a SYSTEM "http://{port}/x"><a/>', 'a')""",
    """xpath('<!DOCTYPE a SYSTEM "file://{file}"><a/>', 'a')""",
    "reflect('java.lang.System', 'getProperty', 'user.home')",
    "java_method('java.lang.System', 'lineSeparator')",
    "try_reflect('java.lang.System', 'getenv', 'PATH')",
)
"""Calls that Spark would carry out, of functions that reach beyond mappings."""
SECONDS = 120.0
"""The longest that an answer may take on a busy machine: a viewer's query may take a minute."""


class Traps:
    """A file and a port of the machine that nothing may touch. Whoever does gets an end of what it reads, and is noted."""

    def __init__(self, folder):
        self.file, self.touched, self._over = folder / "secret.txt", set(), False
        os.mkfifo(self.file)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._threads = [threading.Thread(target=watch, daemon=True) for watch in (self._watch_file, self._watch_port)]
        for thread in self._threads:
            thread.start()

    def _watch_file(self):
        while not self._over:
            os.close(os.open(self.file, os.O_WRONLY))  # once somebody reads it
            self.touched.add("the file")

    def _watch_port(self):
        while not self._over:
            self._server.accept()[0].close()
            self.touched.add("the port")

    def step_in(self):
        """Touch both."""
        self.file.read_bytes()
        with socket.create_connection(self._server.getsockname()) as connection:
            connection.recv(1)

    def close(self):
        self._over = True
        self.step_in()
        for thread in self._threads:
            thread.join(20)
        self._server.close()


@pytest.fixture
def traps(tmp_path):
    traps = Traps(tmp_path)
    yield traps
    traps.close()


def test_a_trap_tells_who_steps_into_it(traps):
    assert traps.touched == set()
    traps.step_in()
    assert wait_until(lambda: traps.touched == {"the file", "the port"}, 20)


def test_random_statements_of_a_viewer_come_to_nothing_in_spark(tmp_path, traps):
    from stack import Stack

    token = tmp_path / "viewer-token"
    token.write_text(VIEWER)
    token.chmod(0o600)
    attacker, answers = Attacker(int(os.environ.get("PITSTOP_SECURITY_SEED", "1")), str(traps.file), traps.port), Counter()
    with Stack(tmp_path / "stack", spares=0) as stack:
        client = stack.start_server(options=("--viewer-token-file", str(token)))
        client.sql(SETUP)
        operator = DataFolder(stack.data).token.read_text().strip()
        with httpx2.Client(
            base_url=stack.url, headers={"Authorization": f"Bearer {VIEWER}"}, timeout=SECONDS, trust_env=False
        ) as viewer:

            def ask(statements):
                answer = viewer.post("/api/v1/sql", json={"statements": statements})
                assert answer.status_code < 500, f"{statements[-1000:]!r}: {answer.text[:500]}"
                assert not traps.touched, statements[-1000:]
                assert not any(secret in answer.text for secret in (operator, SECRET)), statements[-1000:]
                return answer

            for _ in range(STATEMENTS):
                text = attacker.statement()
                if any("\ud800" <= letter <= "\udfff" for letter in text):
                    continue  # httpx does not send it; test_random.py does
                answers[ask(text).status_code] += 1
            for call in REACHING:
                told = ask(f"SELECT {call.format(file=traps.file, port=traps.port)} AS a FROM cars")
                assert (told.status_code, "reaches beyond" in told.text) == (400, True), told.text
            carried_out = ask("SELECT upper(owner) AS o, count(*) AS n FROM cars GROUP BY owner")
            assert '["ADA",1]' in carried_out.text.replace(" ", "")
    assert set(answers) >= {200, 400, 403}, answers
    assert not Path(f"{traps.file}x").exists()
