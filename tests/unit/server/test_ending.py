"""The exit code of a server says whether it was asked to end."""

import subprocess
import sys

FAILING = """
import sys

from pitstop.errors import EngineError
from pitstop.main.app import main
from pitstop.server.leading import Leading


def fail(leading):
    raise EngineError("The loop has met what it cannot go on with.")


Leading.run = fail
sys.argv = ["pitstop", "serve", "--data", sys.argv[1], "--port", "0", "--spares", "0"]
main()
"""


def test_a_server_whose_loop_fails_ends_as_a_failure(tmp_path):
    """Whoever watches the process starts it again."""
    command = [sys.executable, "-c", FAILING, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "ERROR: The loop has met what it cannot go on with.\n" in done.stderr
    assert "serves at" in done.stdout
