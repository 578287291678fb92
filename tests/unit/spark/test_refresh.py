"""When the tables of hash joins are read anew, and what becomes of a reading that fails."""

import errno
import threading
from types import SimpleNamespace

import pytest

from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.spark.base.failures import EpochBoundaryError
from pitstop.spark.running.epochs import EpochWriter
from pitstop.spark.running.refresh import TableRefresh

SOON, SECONDS = 0.01, 30.0


class Job:
    """A job whose query is restarted in no time, or fails to."""

    def __init__(self, every=SOON, active=True, last_written=0, error=None):
        self.query = SimpleNamespace(active=active, writer=SimpleNamespace(last_written=last_written, closed=False))
        self.restarts, self.told, self.seen_under_way, self._error = 0, threading.Event(), [], error
        self.readings, self.away = 0, False
        self.refresh = TableRefresh(lambda: every, lambda: self.query, self._read, self._restart, lambda: None, self.told.set)

    def _read(self):
        self.readings += 1
        return None if self.away else {"side": self.readings}

    def _restart(self, tables):
        assert tables == {"side": self.readings}
        self.seen_under_way.append(self.refresh.under_way)
        if self._error is not None:
            raise self._error
        self.restarts += 1


def test_the_query_is_restarted_again_and_again():
    job = Job()
    job.refresh.begin()
    assert wait_until(lambda: job.restarts >= 3, SECONDS)
    assert all(job.seen_under_way)
    job.refresh.end()
    assert not job.refresh.under_way


def test_after_the_end_no_restart_begins():
    job = Job()
    job.refresh.begin()
    assert wait_until(lambda: job.restarts >= 1, SECONDS)
    job.refresh.end()
    after = job.restarts
    assert not wait_until(lambda: job.restarts > after, 20 * SOON)


def test_without_an_interval_nothing_is_restarted():
    job = Job(every=None)
    job.refresh.begin()
    assert not wait_until(lambda: job.restarts > 0, 20 * SOON)


def test_a_query_that_has_written_no_epoch_yet_is_left_alone_until_it_has():
    job = Job(last_written=-1)
    job.refresh.begin()
    assert not wait_until(lambda: job.restarts > 0, 20 * SOON)
    job.query.writer.last_written = 0
    assert wait_until(lambda: job.restarts > 0, SECONDS)
    job.refresh.end()


def test_a_query_that_has_ended_by_itself_is_not_started_again():
    job = Job(active=False)
    job.refresh.begin()
    assert not wait_until(lambda: job.restarts > 0, 20 * SOON)
    assert job.refresh.failure is None


@pytest.mark.parametrize(
    ("error", "message", "away"),
    [
        (RuntimeError("no such file\nat line 3"), "no such file.", False),
        (PipelineError("The table is gone."), "The table is gone.", False),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device.", True),
    ],
)
def test_a_start_that_fails_is_told_in_a_sentence_and_another_run_does_better(error, message, away):
    job = Job(error=error)
    job.refresh.begin()
    assert job.told.wait(SECONDS)
    assert not job.refresh.under_way
    told = "The query could not be started with the tables of hash joins that were read again"
    assert job.refresh.failure.message == f"{told}: {message}"
    assert job.refresh.failure.details == {"restartable": True, "away": away}
    assert not wait_until(lambda: len(job.seen_under_way) > 1, 20 * SOON)


def test_a_reading_that_fails_leaves_the_query_alone_and_the_next_one_is_tried():
    job = Job()
    job.away = True
    job.refresh.begin()
    assert wait_until(lambda: job.readings >= 3, SECONDS)
    assert (job.restarts, job.refresh.failure) == (0, None)
    job.away = False
    assert wait_until(lambda: job.restarts >= 1, SECONDS)
    job.refresh.end()


def test_epochs_go_on_if_the_one_under_way_does_not_end_in_time():
    writer = EpochWriter((), None)
    begun, may_end = threading.Event(), threading.Event()

    def write():
        with writer._gate(0):
            begun.set()
            assert may_end.wait(SECONDS)

    writing = threading.Thread(target=write)
    writing.start()
    assert begun.wait(SECONDS)
    assert not writer.pause(SOON)
    may_end.set()
    writing.join()
    with writer._gate(1):
        pass
    assert writer.last_written == 1
    assert writer.pause(SOON)
    with pytest.raises(EpochBoundaryError), writer._gate(2):
        pass
