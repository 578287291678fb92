"""The listener for PostgreSQL's protocol: what it tells of statements."""

import asyncio

import pytest
from pg_mimic import connection

from pitstop.pgwire import server


@pytest.mark.parametrize(
    ("statement", "rows", "tag"),
    [
        ("DROP JOB IF EXISTS a WITH SNAPSHOT b", 0, "OK"),
        ("-- all of it\ncreate mapping m TYPE Rate", 0, "OK"),
        ("ALTER JOB a SUSPEND", 0, "OK"),
        ("SINK INTO m VALUES (1)", 0, "OK"),
        ("INSERT INTO m VALUES (1)", 0, "OK"),
        ("SHOW JOBS", 3, "SHOW"),
        ("/* some */ SELECT 1", 1, "SELECT 1"),
        ("BEGIN", 0, "BEGIN"),
    ],
)
def test_clients_are_told_what_was_done(statement, rows, tag):
    assert connection.command_tag is server.command_tag
    assert server.command_tag(statement, rows) == tag


def test_without_a_token_no_password_is_right():
    passwords = [asyncio.run(server._OneToken(lambda: None).get_password("anybody")) for _ in range(2)]
    assert all(passwords)
    assert passwords[0] != passwords[1]
