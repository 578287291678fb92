import threading
import time

from pitstop.machine.wake import WakeSocket, wake


def test_a_waiter_wakes_at_once_when_somebody_wakes_it(tmp_path):
    socket = WakeSocket(tmp_path / "w.sock")
    threading.Timer(0.05, wake, [tmp_path / "w.sock"]).start()
    began = time.monotonic()
    assert socket.wait(10)
    assert time.monotonic() - began < 5
    socket.close()


def test_many_wakes_count_as_one(tmp_path):
    socket = WakeSocket(tmp_path / "w.sock")
    for _ in range(5):
        assert wake(tmp_path / "w.sock")
    assert socket.wait(1)
    assert not socket.wait(0)
    socket.close()


def test_waking_nobody_does_no_harm(tmp_path):
    assert not wake(tmp_path / "nobody.sock")


def test_a_path_longer_than_a_socket_address_works(tmp_path):
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    socket = WakeSocket(folder / "w.sock")
    assert wake(folder / "w.sock")
    assert socket.wait(1)
    socket.close()


def test_who_ends_late_does_not_take_the_path_from_the_next(tmp_path):
    first = WakeSocket(tmp_path / "s")
    second = WakeSocket(tmp_path / "s")
    first.close()
    assert wake(tmp_path / "s")
    assert second.wait(1)
    second.close()
    assert not (tmp_path / "s").exists()
