"""Sinks of Spark's own writers: rows of each epoch by JDBC, into Derby and PostgreSQL, at least once."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.kit.waiting import wait_until
from pitstop.machine import named_secrets
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.looking import findings
from tests.folders import everything_below

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
DRIVER = Path(os.environ.get("PITSTOP_TEST_JDBC") or "/nowhere")


@pytest.fixture
def derby(spark, tmp_path):
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", "/dev/null")  # else it writes into the working folder
    return {"url": f"jdbc:derby:memory:{tmp_path.name};create=true", "dbtable": "numbers"}


def numbers_into(sink, rows=20):
    p = ps.Pipeline()
    p.read_from(ps.sources.items([[n] for n in range(rows)], "n bigint"), name="numbers").write_to(sink, name="table")
    return p


def rows_in(spark, options):
    return sorted(row[0] for row in spark.read.format("jdbc").options(**options).load().collect())


def test_rows_of_a_job_are_rows_of_a_table(spark, derby, tmp_path):
    ps.run(numbers_into(ps.sinks.spark("jdbc", **derby)), spark, data_dir=tmp_path / "data")
    assert rows_in(spark, derby) == list(range(20))
    ps.run(numbers_into(ps.sinks.spark("jdbc", **derby), 3), spark, data_dir=tmp_path / "more")
    assert rows_in(spark, derby) == sorted([*range(20), *range(3)])
    ps.run(numbers_into(ps.sinks.spark("jdbc", mode="overwrite", **derby), 2), spark, data_dir=tmp_path / "last")
    assert rows_in(spark, derby) == [0, 1]


@pytest.mark.long
def test_rows_of_a_stream_come_epoch_by_epoch_and_epochs_without_rows_overwrite_nothing(spark, derby, tmp_path):
    append, last = {**derby, "dbtable": "all_of_them"}, {**derby, "dbtable": "newest"}
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(40), name="numbers").select("sequence AS n")
    rows.write_to(ps.sinks.spark("jdbc", **append), name="every")
    rows.filter("n < 5").write_to(ps.sinks.spark("jdbc", mode="overwrite", **last), name="last")
    job = ps.run(p, spark, data_dir=tmp_path / "data", snapshot_interval="300 ms")
    try:
        assert wait_until(lambda: job.progress.input_rows > 60, 60)
    finally:
        job.stop()
    numbers = rows_in(spark, append)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 60
    assert 4 in rows_in(spark, last)


def test_check_tells_what_is_promised(spark, derby):
    p = numbers_into(ps.sinks.spark("jdbc", **derby))
    (sentence,) = findings(spark, p, compile_pipeline(spark, p))
    assert sentence.endswith(
        "writes by Spark's own writer of 'jdbc', at least once: an epoch that is written again is there twice, and what was "
        "written is not withdrawn."
    )


def test_a_mode_that_would_not_go_on_is_refused():
    with pytest.raises(UsageError, match="mode is append or overwrite, not 'error'"):
        ps.sinks.spark("jdbc", mode="error")


@pytest.mark.long
def test_tables_of_postgresql_are_written_and_read_by_a_jar_and_a_secret_that_nothing_tells(spark, tmp_path, monkeypatch, capfd):
    if "PITSTOP_TEST_POSTGRES" not in os.environ or not DRIVER.is_file():
        pytest.skip("there is no PostgreSQL with a driver here: make test-postgres")
    from tests.postgres.server import new_database

    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS writer")
        connection.execute("CREATE ROLE writer LOGIN PASSWORD 'planted-p'")
        connection.execute("GRANT ALL ON SCHEMA public TO writer")
    monkeypatch.setenv("PITSTOP_SECRET_DB", "planted-p")
    monkeypatch.setattr(named_secrets, "_values", {})
    address = urlsplit(url)
    place = {"url": f"jdbc:postgresql://{address.hostname}:{address.port}{address.path}", "dbtable": "numbers"}
    account = {"user": "writer", "password": "secret:DB", "jars": [DRIVER]}
    ps.run(numbers_into(ps.sinks.spark("jdbc", **place, **account)), spark, data_dir=tmp_path / "data")
    with psycopg.connect(url) as connection:
        assert [n for (n,) in connection.execute("SELECT n FROM numbers ORDER BY n")] == list(range(20))
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.spark("jdbc", streaming=False, **place, **account), name="numbers")
    rows.write_to(ps.sinks.files(str(tmp_path / "out"), "json"), name="out")
    ps.run(p, spark, data_dir=tmp_path / "again")
    written = sorted(line for file in (tmp_path / "out").glob("*.json") for line in file.read_text().splitlines())
    assert written == sorted(f'{{"n":{n}}}' for n in range(20))
    assert [path for path in everything_below(tmp_path) if path.is_file() and b"planted" in path.read_bytes()] == []
    out, err = capfd.readouterr()
    assert "planted" not in out + err
