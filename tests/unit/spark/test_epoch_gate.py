"""The gate that lets a query begin no further epoch."""

import threading

import pytest

from pitstop.spark.base.failures import EpochBoundaryError
from pitstop.spark.running.epochs import EpochWriter


@pytest.fixture
def writer():
    return EpochWriter((), environment=None)


class Epoch:
    """One that is being written until it is told to end."""

    def __init__(self, writer, number):
        self.begun, self.end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.write, args=(writer, number))
        self.thread.start()
        assert self.begun.wait(10)

    def write(self, writer, number):
        with writer._gate(number):
            self.begun.set()
            assert self.end.wait(10)

    def finish(self):
        self.end.set()
        self.thread.join(10)


def begins(writer, number):
    try:
        with writer._gate(number):
            return True
    except EpochBoundaryError:
        return False


def test_epochs_go_on_after_a_pause_that_an_epoch_outlasts(writer):
    epoch = Epoch(writer, 3)
    assert not writer.pause(0.01)
    epoch.finish()
    assert begins(writer, 4)


def test_a_writer_that_is_closed_during_such_a_pause_stays_closed(writer):
    epoch = Epoch(writer, 3)
    pausing = threading.Thread(target=writer.pause, args=(0.3,))
    pausing.start()
    writer.close(0.0)
    pausing.join(10)
    epoch.finish()
    assert writer.closed
    assert not begins(writer, 4)


def test_no_epoch_begins_after_a_pause_that_none_outlasts(writer):
    assert writer.pause(0.01)
    assert not begins(writer, 0)
