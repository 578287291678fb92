"""The fleet of the examples beside a cluster: both simulators, and the folders of their job where pods see them."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import TracebackType

from tests.kubernetes.operating import ROOT

FLEET = ROOT / "examples" / "fleet"
sys.path.insert(0, str(FLEET))

import verify  # noqa: E402
from stack import Stack  # noqa: E402

SHARED = Path("/dev/shm")
"""Pods of the rig see what is written here meanwhile; of the machine's other folders each has a view of its own."""
CODE = ("ingest.py", "ingest_v2.py")


class Fleet:
    """``arguments``: those of the job ``ingest``, whose code lies in ``bucket``."""

    def __init__(self, bucket: Path) -> None:
        self.bucket = bucket
        for name in CODE:
            shutil.copy(FLEET / name, bucket)
        self._folder = Path(tempfile.mkdtemp(prefix="pitstop-fleet-", dir=SHARED))
        self._stack = Stack(self._folder / "stack", speedup=30.0, beta_options=("--fail-every", "7", "--garbage-every", "11"))

    def __enter__(self) -> Fleet:
        self._stack.__enter__()
        self._stack.archive.mkdir()
        for folder in (self._folder, self._stack.folder, self._stack.archive):
            folder.chmod(0o777)  # pods are other users
        self._stack.start_simulators()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def arguments(self) -> list[str]:
        return list(self._stack.job_arguments)

    def stand_still(self) -> None:
        """No more pings; those that there are can still be read."""
        self._stack.pause_alpha()
        self._stack.freeze_beta()

    @property
    def emitted(self) -> Counter[verify.Key]:
        return verify.emitted_alpha(self._stack.alpha_dir) + verify.emitted_beta(self._stack.beta_url)

    @property
    def ingested(self) -> Counter[verify.Key]:
        return verify.ingested(self._stack.archive)

    @property
    def verdict(self) -> verify.Verdict:
        return verify.compare(self.emitted, self.ingested)
