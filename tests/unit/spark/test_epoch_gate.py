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


def test_no_epoch_begins_after_a_pause(writer):
    assert begins(writer, 0)
    writer.pause()
    assert writer.closed
    assert not begins(writer, 1)


def test_an_epoch_that_is_under_way_goes_on_in_a_pause(writer):
    epoch = Epoch(writer, 3)
    writer.pause()
    epoch.finish()
    assert writer.last_written == 3
    assert not begins(writer, 4)
