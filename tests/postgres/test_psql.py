"""psql, which comes with PostgreSQL, carries out the statements of the manuals as they stand there, and what else people ask."""

import os
import shutil
import subprocess

import pytest

from pitstop.kit.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

MAPPINGS = "CREATE MAPPING log TYPE Log; CREATE MAPPING numbers TYPE Rate"
CONFIGURING = """CREATE JOB myJob
OPTIONS (
'processingGuarantee' = 'exactlyOnce',
)
AS INSERT INTO log SELECT * FROM numbers;
"""
"""Of the manual's page on configuring jobs, which leaves the last line to its reader."""
UPDATING = "DROP JOB IF EXISTS {} WITH SNAPSHOT {};\n"
"""Of its page on updating jobs, where names stand in <...>."""


@pytest.fixture
def psql(door):
    """Let psql carry out a text, or what its options say: (what it has printed, its errors, its exit code)."""
    client, where, token = door
    program = shutil.which("psql", path=os.pathsep.join((os.environ["PITSTOP_TEST_POSTGRES_BIN"], os.environ["PATH"])))
    assert program, "there is no psql beside PostgreSQL: install it (apt-get install postgresql-client)"

    def carried_out(text="", *options):
        command = [program, where, "--no-psqlrc", "--set", "ON_ERROR_STOP=1", *options]
        environment = os.environ | {"PGPASSWORD": token, "PGCONNECT_TIMEOUT": "60", "PAGER": "cat"}
        done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=200)
        return done.stdout, done.stderr, done.returncode

    carried_out.client = client
    return carried_out


def test_psql_carries_out_the_statements_of_the_manual_as_they_stand_there(psql):
    assert psql(MAPPINGS) == ("OK\nOK\n", "", 0)
    assert psql(CONFIGURING) == ("OK\n", "", 0)
    job = psql.client.job("myJob")
    assert psql("DESCRIBE JOB myJob;", "--csv")[0].count("option processing_guarantee,exactly_once") == 1
    job.wait_started(200)
    assert psql(UPDATING.format("myJob", '"snapshot-v1"')) == ("OK\n", "", 0)
    assert job.status.terminal
    assert psql("SHOW SNAPSHOTS;", "--tuples-only", "--no-align")[0].split("|")[:2] == ["snapshot-v1", "myJob"]
    assert psql(UPDATING.format('"hello-world"', '"snapshot-v1"')) == ("OK\n", "", 0)
    again = CONFIGURING.replace("'exactlyOnce',", "'exactlyOnce', 'initialSnapshotName' = 'snapshot-v1',")
    assert psql(again) == ("OK\n", "", 0)
    later = psql.client.job("myJob")
    assert later.id != job.id
    later.wait_started(200)
    assert any("from snapshot 'snapshot-v1'" in line for line in later.logs())
    assert psql(UPDATING.format(later.id, '"snapshot-v2"')) == ("OK\n", "", 0)
    assert {each.name for each in psql.client.snapshots()} == {"snapshot-v1", "snapshot-v2"}


def test_psql_shows_rows_tables_and_errors(psql):
    cars = "CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT) TYPE IMap"
    entries = "SINK INTO cars VALUES ('a', 'it''s', 3), ('b', NULL, 5)"
    assert psql(f"-- two cars\n{cars};\n{entries};\n") == ("OK\nOK\n", "", 0)
    assert psql("SELECT __key, owner, speed FROM cars ORDER BY 1;")[0].splitlines() == [
        " __key | owner | speed ",
        "-------+-------+-------",
        " a     | it's  |     3",
        " b     |       |     5",
        "(2 rows)",
        "",
    ]
    bare = ("--tuples-only", "--no-align", "--command")
    several = "SELECT to_char(DATE '2026-03-01', 'yyyy') AS y; SHOW MAPPINGS"
    assert psql("", *bare, several)[0].split() == ["2026", "cars"]
    assert "cars" in psql("", *bare, "\\d")[0]
    assert "speed" in psql("\\d cars")[0]
    bodies = "INSERT INTO log SELECT 1 AS a FROM numbers; INSERT INTO nothing SELECT 2 AS b FROM numbers;"
    assert psql(f"{MAPPINGS}; CREATE MAPPING nothing TYPE Noop;")[2] == 0
    assert psql("", "--command", f"CREATE JOB two AS BEGIN {bodies} END; DROP JOB two")[1:] == ("", 0)
    assert wait_until(lambda: psql.client.jobs() == [], 60)

    out, error, code = psql("SHOW VIEWS;\nDROP JOB nobody;\nDROP MAPPING cars;\n")
    assert (code, "(0 rows)" in out) == (3, True)
    assert error.strip() == "ERROR:  Job doesn't exist: nobody"
    assert psql("DROP JOBS nobody;")[1].startswith("ERROR:  From line 1, column 6 to line 1, column 9: Encountered 'JOBS'")
    assert psql("SHOW MAPPINGS;", "--tuples-only", "--no-align")[0].split() == ["cars", "log", "nothing", "numbers"]
