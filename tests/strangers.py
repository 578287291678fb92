"""Being another user of the machine, as far as sockets go. Only root can."""

import contextlib
import ctypes
import os

import pytest

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user as well")


@contextlib.contextmanager
def as_nobody():
    """Sockets that this thread makes within belong to another user; other threads go on as before."""
    libc = ctypes.CDLL(None)
    libc.setfsuid(NOBODY)
    try:
        yield
    finally:
        libc.setfsuid(os.geteuid())
