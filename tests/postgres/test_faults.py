"""What PostgreSQL does that no file does: connections break, sessions stand still, the server goes away."""

import threading
import time

import psycopg
import pytest

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import StoreError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.store.database import open_database
from pitstop.store.dialects import postgres
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from tests.doubles.wake import MemoryWake
from tests.postgres.server import SERVER, new_database


@pytest.fixture
def url():
    return new_database()


@pytest.fixture
def database(url):
    made = open_database(url)
    yield made
    made.close()


@pytest.fixture
def registry(database):
    return SqlRegistry(database)


def job(job_id="id-1", name="ingest", **more):
    return Job(job_id, name, 5.0, Version(1, JobSource("a.py"), {}, JobConfig()), JobState.RUNNING, **more)


def run_of(database, job_id):
    link = SqlRunnerLink(database, MemoryWake())
    link.claim(job_id, 1, RunHandle("here"), 30)
    return link


def administrator(url):
    return psycopg.connect(SERVER, autocommit=True), url.rpartition("/")[2]


def cut_all_sessions(url):
    admin, name = administrator(url)
    with admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def test_sessions_that_were_cut_cost_no_call(url, database, registry):
    registry.add_job(job())
    cut_all_sessions(url)
    assert registry.jobs() == [job()]
    cut_all_sessions(url)
    registry.save_job(job(token=2))
    assert registry.get_job("id-1").token == 2


@pytest.mark.parametrize("rows", [False, True])
def test_a_session_that_is_cut_in_a_transaction_undoes_it_and_is_told_in_one_sentence(url, database, registry, rows):
    def write():
        with database.write() as connection:
            registry.add_job(job())
            cut_all_sessions(url)
            if rows:
                database.dialect.cursor(connection).execute("SELECT 1")
            else:
                registry.add_job(job("id-2", "other"))

    with pytest.raises(StoreError, match=r"^The store postgresql://.* cannot be used: .*"):
        write()
    assert registry.jobs() == []
    registry.add_job(job())


def test_a_server_that_is_away_is_told_in_one_sentence_without_a_password(url):
    elsewhere = url.replace(url.split("@")[1].split("/")[0], "127.0.0.1:9")
    with pytest.raises(StoreError, match=r"cannot be used: .*refused") as raised:
        open_database(elsewhere)
    assert "\n" not in raised.value.message


def test_a_stranger_is_refused_in_one_sentence(url):
    with pytest.raises(StoreError, match="password authentication failed"):
        open_database(url.replace("pitstop:", "pitstop:not"))


class Standing:
    """A thread that says nothing for 3 seconds within a transaction; what it is told after it."""

    def __init__(self, transaction, say=lambda inside: None):
        self.told, self._holding = [], threading.Event()
        self._thread = threading.Thread(target=self._stand, args=(transaction, say))
        self._thread.start()
        assert self._holding.wait(30)

    def _stand(self, transaction, say):
        try:
            with transaction as inside:
                say(inside)
                self._holding.set()
                time.sleep(3)
                say(inside)
        except StoreError as error:
            self.told.append(error)

    def end(self):
        self._thread.join(30)
        return self.told


def test_who_stands_still_while_it_decides_keeps_others_waiting_for_seconds_only(database, registry, monkeypatch):
    monkeypatch.setattr(postgres, "DECIDING_SECONDS", 1)
    standing = Standing(database.write(), lambda connection: connection.exec_driver_sql("SELECT 1"))
    began = time.monotonic()
    registry.add_job(job())
    assert time.monotonic() - began < 2.9
    assert len(standing.end()) == 1


def test_a_run_that_stands_still_keeps_its_job_from_others_no_longer_than_a_session_may_say_nothing(url, registry, monkeypatch):
    monkeypatch.setitem(postgres.SETTINGS, "idle_in_transaction_session_timeout", "1s")
    database = open_database(url)
    registry.add_job(job(token=1))
    standing = Standing(run_of(database, "id-1").held())
    began = time.monotonic()
    registry.save_job(job(token=2))
    assert time.monotonic() - began < 2.9
    assert len(standing.end()) == 1, "the run is told that what it did in there is undone"
    database.close()


def test_runs_of_several_jobs_do_not_wait_for_one_another(database, registry):
    for job_id, name in (("id-1", "one"), ("id-2", "two")):
        registry.add_job(job(job_id, name, token=1))
    first, second = (run_of(database, job_id) for job_id in ("id-1", "id-2"))
    with first.held():
        began = time.monotonic()
        with second.held():
            second.report(Progress(epoch=7))
        assert time.monotonic() - began < postgres.BUSY_SECONDS / 2
    assert second.progress().epoch == 7


def test_a_store_that_others_keep_locked_is_told_as_busy(url, monkeypatch):
    monkeypatch.setitem(postgres.SETTINGS, "lock_timeout", "300ms")
    database = open_database(url)
    with psycopg.connect(url) as other:
        other.execute(f"SELECT pg_advisory_xact_lock({postgres.DECISIONS})")
        with pytest.raises(StoreError, match="is busy: another process has been writing"), database.write():
            pass
    with database.write():
        pass
    database.close()


def test_states_are_read_of_jobs_whose_texts_have_a_nul(registry):
    source = JobSource("a.py", "m:f", ("x\x00y", "\\u0000", "a\\"))
    odd = Job("id-1", "odd", 5.0, Version(1, source, {}, JobConfig()), JobState.RUNNING)
    registry.add_job(odd)
    assert registry.states(["id-1"]) == {"id-1": JobState.RUNNING}
    assert registry.get_job("id-1") == odd
    assert [found for found, _ in registry.overview()] == [odd]


def test_a_wake_is_lost_with_the_session_and_the_waiter_looks_again_by_itself(url, database):
    wake = database.wake()
    waiter = wake.waiter("control")
    cut_all_sessions(url)
    assert not waiter.wait(0.1)
    assert waiter.wait(5), "what was told meanwhile may be lost"
    wake.wake("control")
    assert waiter.wait(5)
    assert not waiter.wait(0)
    waiter.close()


def test_maps_are_written_side_by_side(database):
    """A writer of one map does not wait for one of another map, nor for a decision."""
    maps = SqlMapStore(database)
    held, go_on = threading.Event(), threading.Event()

    def slowly(old, new):
        held.set()
        assert go_on.wait(30)
        return new

    writer = threading.Thread(target=maps.update_epoch, args=["slow", [("a", "1")], slowly, None, None])
    writer.start()
    assert held.wait(30)
    maps.put_all("quick", [("a", "1")])
    SqlRegistry(database).add_job(job())
    assert maps.get("slow", "a") is None
    go_on.set()
    writer.join(30)
    assert maps.get("slow", "a").value == "1"
