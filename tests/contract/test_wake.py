"""What every Wake promises: by sockets between processes, through a database, and in memory."""

import threading
import time

import pytest

from pitstop.control.ports.wake import CONTROL
from pitstop.launchers.wake import UnixSocketWake
from pitstop.model.data_folder import DataFolder
from pitstop.store.database import open_database
from tests.contract.stores import DATABASES
from tests.doubles.wake import MemoryWake

JOB = "0401-9f77-b9c0-0001"


@pytest.fixture(params=["sockets", "memory", *(name for name in DATABASES if name != "sqlite")])
def wake(request, tmp_path):
    if request.param in DATABASES:
        database = open_database(DATABASES[request.param](tmp_path))
        yield database.wake()
        database.close()
    else:
        yield UnixSocketWake(DataFolder(tmp_path)) if request.param == "sockets" else MemoryWake()


@pytest.mark.parametrize("name", [CONTROL, JOB])
def test_a_waiter_is_woken_at_once(wake, name):
    waiter = wake.waiter(name)
    threading.Timer(0.05, wake.wake, [name]).start()
    began = time.monotonic()
    assert waiter.wait(30)
    assert time.monotonic() - began < 15
    waiter.close()


def test_many_wakes_before_the_wait_count_as_one(wake):
    waiter = wake.waiter(CONTROL)
    for _ in range(5):
        wake.wake(CONTROL)
    assert waiter.wait(1)
    assert not waiter.wait(0)
    waiter.close()


def test_only_the_one_of_that_name_is_woken(wake):
    control, run = wake.waiter(CONTROL), wake.waiter(JOB)
    wake.wake(JOB)
    assert not control.wait(0)
    assert run.wait(1)
    control.close()
    run.close()


def test_waking_nobody_does_no_harm_and_is_not_kept_for_later(wake):
    wake.wake(JOB)
    waiter = wake.waiter(JOB)
    assert not waiter.wait(0)
    waiter.close()


def test_who_waits_later_under_a_name_is_woken_also_when_the_one_before_closes(wake):
    before, after = wake.waiter(JOB), wake.waiter(JOB)
    before.close()
    wake.wake(JOB)
    assert after.wait(1)
    after.close()
