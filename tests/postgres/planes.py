"""Control planes as processes of this machine, on one store and one data folder."""

import os
import signal
import subprocess
import sys
import time

from pitstop.client import connect


class Plane:
    """A ``pitstop serve`` with its client."""

    def __init__(self, folder, store, port, *options):
        self.folder, self.store, self.address = folder, store, f"127.0.0.1:{port}"
        self._log = folder / f"server-{port}.log"
        command = [sys.executable, "-m", "pitstop.main", "serve", "--data", str(folder / "data"), "--port", str(port)]
        environment = os.environ | {"PITSTOP_STORE": store, "PYTHONUNBUFFERED": "1"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
            )
        assert self.process.stdout.readline(), self._log.read_text()[-600:]
        self.client = connect(f"http://{self.address}")

    @property
    def log(self):
        return self._log.read_text()

    def leader(self):
        return self.client.service.server_info().leader

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        for number in (signal.SIGCONT, signal.SIGTERM):
            if self.process.poll() is None:
                self.process.send_signal(number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def until(condition, seconds, what):
    """How long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.05)
    return time.monotonic() - began
