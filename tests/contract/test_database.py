"""What every database under the store promises (store.dialects)."""

import threading
from contextlib import nullcontext

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from pitstop.errors import EngineError, FencedError, StoreError, UsageError
from pitstop.store import schema
from pitstop.store.database import open_database, sqlite_url
from tests.contract.stores import DATABASES

SNAPSHOT = {"name": "s", "job_id": "j", "job_name": None, "created": 1.5, "bytes": 1, "path": "/x", "epoch": 3, "details": {}}
NAMES = select(schema.snapshots.c.name).order_by(schema.snapshots.c.name)


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    return DATABASES[request.param](tmp_path)


@pytest.fixture
def database(url):
    made = open_database(url)
    yield made
    made.close()


def add(connection, name):
    connection.execute(insert(schema.snapshots).values(**SNAPSHOT | {"name": name}))


def names(database):
    with database.read() as connection:
        return [row.name for row in connection.execute(NAMES)]


def test_a_reader_sees_the_store_at_one_moment(database):
    with database.read() as connection:
        assert connection.execute(NAMES).all() == []

        def write():
            with database.write() as other:
                add(other, "s")

        writer = threading.Thread(target=write)
        writer.start()
        writer.join(60)
        assert connection.execute(NAMES).all() == []
    assert names(database) == ["s"]


def test_writers_wait_for_one_another_and_none_fails(database):
    """Each reads a number and writes it one higher: none is lost."""
    add_one = "INSERT INTO maps (name, incarnation, journal_capacity, newest, stored) VALUES ('m', 'i', 0, ?, 0)"
    with database.write_rows() as cursor:
        cursor.execute(add_one, (0,))

    def count():
        for number in range(24):
            # Decisions wait for one another; rows are written beside them by whoever holds them.
            with database.write() if number % 2 else nullcontext(), database.write_rows() as cursor:
                held = "SELECT newest FROM maps WHERE name = ?" + cursor.for_update
                (newest,) = cursor.execute(held, ("m",)).fetchone()
                cursor.execute("UPDATE maps SET newest = ? WHERE name = ?", (newest + 1, "m"))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with database.read_rows() as cursor:
        assert cursor.execute("SELECT newest FROM maps WHERE name = ?", ("m",)).fetchall() == [(96,)]


def test_decisions_wait_for_one_another_without_holding_a_row(database):
    """Each reads how many snapshots there are and adds one of that number: none fails, and none is there twice."""

    def count():
        for _ in range(10):
            with database.write() as connection:
                add(connection, f"{len(connection.execute(NAMES).all()):03d}")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert names(database) == [f"{number:03d}" for number in range(40)]


def test_who_may_decide_no_more_writes_nothing(database):
    allowed = [True]

    def may_write(connection):
        assert connection.execute(NAMES) is not None
        if not allowed[0]:
            raise FencedError("no more")

    fenced = database.fenced(may_write)
    with fenced.write() as connection:
        add(connection, "s")
    allowed[0] = False
    with pytest.raises(FencedError), fenced.write() as connection:
        add(connection, "t")
    assert names(database) == names(fenced) == ["s"]


def test_numbers_have_64_bits_and_names_come_in_the_order_of_their_code_points(database):
    unordered = ["b", "B", "a", "_", "ä", "Z", "a b", "ab", "1"]
    with database.write() as connection:
        for name in unordered:
            connection.execute(insert(schema.snapshots).values(**SNAPSHOT | {"name": name, "bytes": 2**40}))
    assert names(database) == sorted(unordered)


def test_rows_of_the_driver_are_in_the_same_transaction(database):
    def write_and_fail():
        with database.write() as connection:
            add(connection, "s")
            with database.write_rows() as cursor:
                assert cursor.execute("SELECT name FROM snapshots").fetchall() == [("s",)]
                cursor.executemany("DELETE FROM snapshots WHERE name = ?", [("s",), ("t",)])
            with database.read() as again:
                assert again.execute(NAMES).all() == []
            add(connection, "u")
            raise ValueError("after the writes")

    with pytest.raises(ValueError, match="after the writes"):
        write_and_fail()
    assert names(database) == []


def test_a_broken_rule_of_the_schema_undoes_its_part_and_the_transaction_goes_on(database):
    def add_both():
        with database.write() as inner:
            add(inner, "t")
            add(inner, "s")

    with database.write() as connection:
        add(connection, "s")
        with pytest.raises(IntegrityError):
            add_both()
        add(connection, "u")
    assert names(database) == ["s", "u"]


def test_an_upsert_inserts_or_overwrites_the_row_of_that_key(database):
    for epoch in (3, 4):
        with database.write() as connection:
            connection.execute(database.dialect.upsert(schema.snapshots, ("name",), SNAPSHOT | {"epoch": epoch}))
    with database.read() as connection:
        (row,) = connection.execute(select(schema.snapshots)).mappings().all()
    assert row == SNAPSHOT | {"epoch": 4}


def test_a_store_that_cannot_be_opened_is_told_in_one_sentence(tmp_path):
    with pytest.raises(EngineError, match=r"cannot be opened: see that its folder exists and may be written\.$"):
        open_database(f"sqlite:///{tmp_path}/missing/pitstop.db")
    with pytest.raises(UsageError, match=r"^There is no store of the kind 'mysql': the URL begins with"):
        open_database("mysql://user:secret@host/pitstop")


def test_a_file_that_is_no_store_is_told_in_one_sentence(tmp_path):
    (tmp_path / "pitstop.db").write_text("no database at all, but long enough to have a header " * 20)
    with pytest.raises(EngineError, match=r"^The store sqlite:///.*/pitstop.db cannot be used: .*not a database\.$"):
        open_database(f"sqlite:///{tmp_path}/pitstop.db")


def test_a_store_that_was_removed_or_replaced_is_away_until_it_is_back(tmp_path):
    file = tmp_path / "pitstop.db"
    database = open_database(sqlite_url(file))
    with database.write() as connection:
        add(connection, "kept")
    aside = file.rename(tmp_path / "aside.db")
    for replaced in (False, True):
        if replaced:
            file.write_bytes(b"")
        with pytest.raises(StoreError, match="was removed or replaced while it was in use"):
            names(database)
        with pytest.raises(StoreError), database.write() as connection:
            add(connection, "lost")
    file.unlink()
    aside.rename(file)
    assert names(database) == ["kept"]
    database.close()
