"""A job made by SQL writes tables of PostgreSQL, which psycopg reads back: rows are inserted, replaced and removed."""

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from pitstop.errors import PitstopError
from pitstop.kit.waiting import wait_until
from tests.ports import free_port
from tests.postgres.planes import Plane
from tests.postgres.server import empty_database, new_database

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
ROWS = [
    {"shop": "north", "total": 1.5, "second": 5},
    {"shop": "north", "total": 2.5, "second": 9},
    {"shop": "north", "total": 9.5, "second": 1},
    {"shop": "south", "total": 3.5, "second": 2},
    {"shop": "south", "total": None, "second": 3},
    {"shop": "east", "total": None, "second": 8},
    {"shop": "east", "total": 4.5, "second": 7},
]
TABLES = """
CREATE SCHEMA reports;
CREATE TABLE reports.totals (store text PRIMARY KEY, total double precision, at timestamptz, made text DEFAULT 'here');
CREATE TABLE history (shop text, tags jsonb);
"""
MAPPINGS = """
CREATE MAPPING sales (shop VARCHAR, total DOUBLE, at TIMESTAMP)
    TYPE File OPTIONS ('path' = '{folder}', 'format' = 'json', 'streaming' = 'true');
CREATE MAPPING totals EXTERNAL NAME "reports.totals" (shop VARCHAR EXTERNAL NAME store, total DOUBLE, at TIMESTAMP)
    TYPE Postgres OPTIONS ('url' = '{url}', 'key' = 'shop', 'orderBy' = 'at', 'deleteWhen' = 'total IS NULL');
CREATE MAPPING history (shop VARCHAR, tags ARRAY<VARCHAR>) TYPE Postgres OPTIONS ('url' = '{url}');
"""
JOB = """
CREATE JOB shops OPTIONS ('snapshotIntervalMillis' = '500') AS BEGIN
    SINK INTO totals SELECT shop, total, at FROM sales;
    INSERT INTO history SELECT shop, ARRAY(shop, 'x') FROM sales;
END
"""


def test_a_job_in_sql_inserts_replaces_and_removes_rows(tmp_path):
    url, folder = empty_database(), tmp_path / "sales"
    folder.mkdir()

    def write(name, rows):
        lines = [json.dumps({**row, "at": (START + timedelta(seconds=row["second"])).isoformat()}) for row in rows]
        (tmp_path / name).write_text("\n".join(lines))
        (tmp_path / name).rename(folder / name)

    def rows_of(statement):
        with psycopg.connect(url) as connection:
            return connection.execute(statement).fetchall()

    with psycopg.connect(url) as connection:
        connection.execute(TABLES)
    plane = Plane(tmp_path, new_database(), free_port(), "--spares", "1", "--stop-jobs-on-exit")
    try:
        client = plane.client
        client.sql(MAPPINGS.format(folder=folder, url=url))
        with pytest.raises(PitstopError, match="INSERT INTO clause is not supported for Postgres with option key, use SINK INTO"):
            client.sql("CREATE JOB shops AS INSERT INTO totals SELECT shop, total, at FROM sales")
        client.sql(JOB)
        job = client.job("shops")
        write("1.json", ROWS[:3])
        wait_until(lambda: len(rows_of("SELECT FROM history")) == 3 or job.status.terminal, 200)
        assert not job.status.terminal, job.details.failure
        assert rows_of("SELECT * FROM reports.totals") == [("north", 2.5, START + timedelta(seconds=9), "here")]
        write("2.json", ROWS[3:4])
        wait_until(lambda: len(rows_of("SELECT FROM history")) == 4 or job.status.terminal, 100)
        write("3.json", ROWS[4:6])
        wait_until(lambda: len(rows_of("SELECT FROM history")) == 6 or job.status.terminal, 100)
        assert rows_of("SELECT store, total FROM reports.totals") == [("north", 2.5)]
        write("4.json", ROWS[6:])
        wait_until(lambda: len(rows_of("SELECT FROM history")) == len(ROWS) or job.status.terminal, 100)
        assert not job.status.terminal, job.details.failure
        # A row that comes after a removal is a row like any other: of what was removed nothing is remembered.
        assert rows_of("SELECT store, total FROM reports.totals ORDER BY store") == [("east", 4.5), ("north", 2.5)]
        assert sorted(rows_of("SELECT * FROM history")) == sorted((row["shop"], [row["shop"], "x"]) for row in ROWS)
        client.sql("DROP JOB shops")
    finally:
        plane.end()
