"""Pages of the documentation as their readers meet them: their blocks of code, and a shell to run these in."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[2]
USUAL_URL = "http://127.0.0.1:8701"


def blocks_of(text):
    """Return language and text of each block of code."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)


class Reader:
    """A shell in a folder of its own, with ``pitstop`` on its path."""

    def __init__(self, folder):
        self.folder, self.server = folder, None
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PITSTOP_", "_PITSTOP"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = kept | {"PATH": path, "PITSTOP_DATA": str(folder / "data"), "PYTHONUNBUFFERED": "1"}
        self.environment["PITSTOP_PROGRESS"] = "off"  # answers are compared with those of pages, whatever time they take

    def serve(self, line):
        """The server on a free port, and its jobs ended with it; nothing else is changed."""
        command = [*line.removesuffix("&").split(), "--port", "0", "--stop-jobs-on-exit"]
        with (self.folder / "server.log").open("w") as log:
            self.server = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.environment["PITSTOP_URL"] = self.server.stdout.readline().split(" serves at ")[1].split()[0]

    def run(self, line):
        """What a command prints; it must succeed."""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=400
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}{(self.folder / 'server.log').read_text()[-2000:]}"
        return done.stdout

    def follow(self, line, wanted, seconds=120):
        """Lines of a command that does not end by itself, until ``wanted`` says that they are enough."""
        process = subprocess.Popen(
            line.split(), cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        found = []
        try:
            while not wanted(found) and (text := process.stdout.readline()):
                found.append(text)
        finally:
            watchdog.cancel()
            process.kill()
            process.communicate()
        return found

    def end(self):
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.communicate(timeout=60)
