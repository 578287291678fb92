"""When the tables of hash joins are read anew, which epochs get them, and what becomes of a reading that fails."""

import errno
import threading

import pytest

from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.spark.base.failures import EpochBoundaryError
from pitstop.spark.running.epochs import EpochWriter
from pitstop.spark.running.refresh import TableRefresh

SOON, LONG, SECONDS = 0.01, 3600.0, 30.0


class Query:
    """A query that does an epoch when it is told to."""

    def __init__(self, tables):
        self.active, self.tables, self.writer = True, tables, EpochWriter((), None)

    def epoch(self, number):
        """Return the tables of the epoch; None if another query is to do it."""
        try:
            self.writer._at_gate(number)
            with self.writer._gate(number):
                return self.tables
        except EpochBoundaryError:
            self.active = False
            return None


class Job:
    """A job whose query is replaced in no time, or fails to."""

    def __init__(self, every=SOON, error=None):
        self.replaced, self.attempted, self._error = 0, threading.Event(), error
        self.readings, self.away, self.same, self.number, self.under_way = 0, False, False, 0, []
        self.every = every
        self.refresh = TableRefresh(
            lambda: self.every, lambda: self.query, self._read, self._replace, lambda: None, self.attempted.set
        )
        self._follow(0)
        self.refresh.begin()

    def epoch(self):
        """Do the next epoch; return the number of the reading with which it was joined, 0: the one at the start."""
        while (tables := self.query.epoch(self.number)) is None:
            self.refresh.settle()
            if self.refresh.failure is not None:
                raise self.refresh.failure
        self.number += 1
        return tables

    def _follow(self, tables):
        self.query = Query(tables)
        self.query.writer.at_gate(lambda epoch, writer=self.query.writer: self.refresh.before_epoch(writer))

    def _read(self):
        self.readings += 1
        return None if self.away or self.same else {"side": self.readings}

    def _replace(self, tables):
        self.under_way.append(self.refresh.under_way)
        if self._error is not None:
            raise self._error
        self._follow(tables["side"])
        self.replaced += 1

    def end(self):
        self.every = None
        self.refresh.end()


def test_epochs_get_tables_that_were_read_beside_them():
    job = Job()
    assert wait_until(lambda: job.epoch() >= 3, SECONDS)
    assert all(job.under_way)
    job.end()
    assert not job.refresh.under_way


def test_an_epoch_after_a_pause_is_joined_with_tables_that_are_read_for_it():
    job = Job()
    job.epoch()
    assert wait_until(lambda: job.refresh._is_due, SECONDS)
    before = job.readings
    assert job.epoch() > before, "what was read when the last epoch was over is as old as the pause"
    job.end()


def test_while_no_epoch_comes_no_table_is_read_and_no_query_is_replaced():
    job = Job()
    assert wait_until(lambda: job.refresh._is_due, SECONDS)
    query = job.query
    assert not wait_until(lambda: job.readings or job.query is not query, 20 * SOON)
    assert query.active


def test_tables_that_are_as_they_were_leave_the_query_as_it_is():
    job = Job()
    job.same = True
    query = job.query
    assert wait_until(lambda: job.epoch() == 0 and job.readings >= 3, SECONDS)
    assert job.query is query
    job.end()


def test_tables_that_a_test_has_read_are_those_of_the_next_epoch():
    job = Job(every=None)
    assert job.epoch() == 0
    job.refresh.give({"side": 7})
    assert (job.epoch(), job.epoch(), job.replaced) == (7, 7, 1)


def test_an_epoch_does_not_wait_while_tables_are_read_beside_it():
    job = Job(every=None)
    with job.refresh._reading:
        assert job.epoch() == 0


def test_after_the_end_no_query_is_replaced():
    job = Job()
    assert wait_until(lambda: job.epoch() >= 1, SECONDS)
    job.refresh.end()
    query = job.query
    assert wait_until(lambda: job.epoch() and job.number > 20, SECONDS)
    assert job.query is query


def test_without_an_interval_nothing_is_read():
    job = Job(every=None)
    assert [job.epoch() for _ in range(20)] == [0] * 20
    assert job.readings == 0


def test_the_tables_of_a_query_that_has_ended_by_itself_are_read_no_more():
    job = Job(every=LONG)
    job.epoch()
    job.query.active = False
    job.refresh._refresh()
    assert (job.readings, job.refresh.failure) == (0, None)


def test_a_query_that_is_being_stopped_is_not_replaced():
    job = Job(every=None)
    job.refresh.give({"side": 7})
    job.query.writer.close(0)
    assert job.query.epoch(0) is None
    assert not job.refresh.under_way


@pytest.mark.parametrize(
    ("error", "message", "away"),
    [
        (RuntimeError("no such file\nat line 3"), "no such file.", False),
        (PipelineError("The table is gone."), "The table is gone.", False),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device.", True),
    ],
)
def test_a_start_that_fails_is_told_in_a_sentence_and_another_run_does_better(error, message, away):
    job = Job(every=None, error=error)
    job.refresh.give({"side": 1})
    with pytest.raises(Exception, match="could not be started"):
        job.epoch()
    assert job.attempted.wait(SECONDS)
    assert not job.refresh.under_way
    failed = "The query could not be started with the tables of hash joins that were read again"
    assert job.refresh.failure.message == f"{failed}: {message}"
    assert job.refresh.failure.details == {"restartable": True, "away": away}


def test_a_reading_that_fails_leaves_the_query_alone_and_the_next_one_is_tried():
    job = Job()
    job.away = True
    assert wait_until(lambda: job.epoch() == 0 and job.readings >= 3, SECONDS)
    assert (job.replaced, job.refresh.failure) == (0, None)
    job.away = False
    assert wait_until(lambda: job.epoch() > 0, SECONDS)
    job.end()
