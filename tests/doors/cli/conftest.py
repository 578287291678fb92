"""The command line in this process, against a real server."""

import os
import sys

import pytest

from pitstop.machine.private import write_private
from pitstop.main import app as cli_main
from tests.doors.conftest import TOKEN


@pytest.fixture
def url(serve, state):
    return serve(state)


@pytest.fixture
def token_file(tmp_path):
    """A file with a token, that only its owner may read."""

    def write(token):
        path = tmp_path / "token-of-a-user"
        write_private(path, token)
        return path

    return write


@pytest.fixture
def bare(monkeypatch, capfd):
    """Call ``pitstop`` with exactly these arguments: (exit code, standard output, standard error)."""
    for name in [name for name in os.environ if name.startswith(("PITSTOP_", "_PITSTOP"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PITSTOP_PROGRESS", "off")  # on a busy machine each command may take long

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["pitstop", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli_main.main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return call


@pytest.fixture
def cli(bare, url, monkeypatch):
    """Call ``pitstop`` against the server."""
    monkeypatch.setenv("PITSTOP_URL", url)
    monkeypatch.setenv("PITSTOP_TOKEN", TOKEN)
    return bare
