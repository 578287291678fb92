"""The door for clients of PostgreSQL as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gateway(url: str, token: str) -> Iterator[str]:
    """``pitstop pgwire`` for the server at a URL, with what clients connect by: host, port, user and database."""
    command = [sys.executable, "-m", "pitstop.main", "--url", url, "pgwire", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PITSTOP_TOKEN": token})
    try:
        assert process.stdout is not None
        yield process.stdout.readline().partition("'")[2].partition("'")[0]
    finally:
        process.terminate()
        process.wait(20)
