"""What one viewer asks for and leaves, over and over, ends no query of an operator, and has limits of its own."""

import threading
import time

import httpx2
import pytest

from pitstop.model.data_folder import DataFolder

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]

VIEWER = "the-token-of-viewers"
HEAVY = (
    "SELECT max(aggregate(sequence(1, 60000), 0L, (a, x) -> a + aggregate(sequence(1, 60000), 0L, (b, y) -> b + y + n))) AS s "
    "FROM VALUES (1) AS v (n)"
)
"""The driver computes it while it plans: nothing can end it but the end of its process."""
ENDED = "this process ends, and another one takes its place"
SECONDS = 240.0
"""The longest that it may take on a busy machine until their process has ended for it, and the attacker is told to wait."""


@pytest.fixture
def token(tmp_path):
    file = tmp_path / "viewer-token"
    file.write_text(VIEWER)
    file.chmod(0o600)
    return ("--viewer-token-file", str(file))


def test_a_viewers_query_has_less_time_than_an_operators_and_says_so(stack, token):
    client = stack.start_server(options=(*token, "--viewer-query-seconds", "1.5"))
    client.sql("CREATE MAPPING cars (__key VARCHAR, owner VARCHAR) TYPE IMap; SINK INTO cars VALUES ('v1', 'Ada')")
    # Its rows are many, and none of them is sent before all are there.
    slow = "SELECT count(DISTINCT xxhash64(b.id)) AS n FROM cars, (SELECT explode(sequence(1, 3000000)) AS id) AS b"
    headers = {"Authorization": f"Bearer {VIEWER}"}
    answer = httpx2.post(f"{stack.url}/api/v1/sql", json={"statements": slow}, headers=headers, timeout=300)
    said = "The query took more than 1.5 seconds, which is the limit of a viewer's query: ask for less, or have the server"
    assert f"{said} started with more --viewer-query-seconds." in answer.text
    assert [row["n"] for row in client.sql(slow)] == [3_000_000]


def test_queries_that_a_viewer_leaves_end_no_query_of_an_operator(stack, token):
    client = stack.start_server(options=token)
    client.sql("CREATE MAPPING cars (__key VARCHAR, owner VARCHAR) TYPE IMap; SINK INTO cars VALUES ('v1', 'Ada'), ('v2', 'Bob')")
    over, left = threading.Event(), []

    def attack():
        headers = {"Authorization": f"Bearer {VIEWER}"}
        while not over.wait(1):
            try:
                answer = httpx2.post(f"{stack.url}/api/v1/sql", json={"statements": HEAVY}, headers=headers, timeout=2)
                left.append(answer.status_code)
            except httpx2.TimeoutException:
                left.append("left")

    attacker = threading.Thread(target=attack, daemon=True)
    attacker.start()
    log = DataFolder(stack.data).viewer_queries_log
    until, took = time.monotonic() + SECONDS, []
    try:
        while 429 not in left or ENDED not in (log.read_text() if log.exists() else ""):
            assert time.monotonic() < until, left
            asked = time.monotonic()
            assert [tuple(row.values()) for row in client.sql("SELECT COUNT(*) FROM cars")] == [(2,)]
            took.append(time.monotonic() - asked)
    finally:
        over.set()
        attacker.join(30)
    assert "left" in left, left
    assert max(took[1:]) < 60, took
    assert ENDED not in DataFolder(stack.data).queries_log.read_text()
