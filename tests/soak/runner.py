"""Run chains in worker processes, and compare what their sinks hold with the reference."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from tests.soak import generator
from tests.soak.chain import Chain, Stage
from tests.soak.expected import HELD_BACK, Facts, expected, latest_watermark
from tests.soak.states import Row, row_of
from tests.soak.worker import ANSWER

VERSION_SECONDS = 600.0


class ChainFailedError(Exception):
    """What came differs from what must come, or a version did not run."""


class Worker:
    """A worker process with its Spark session; a new one takes the place of one that was killed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, None
        folder.mkdir(parents=True, exist_ok=True)

    def ask(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None if the process was killed."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        deadline = time.monotonic() + VERSION_SECONDS
        while True:
            try:
                line = self._lines.get(timeout=max(0.1, deadline - time.monotonic()))
            except queue.Empty:
                self.close()
                raise ChainFailedError(f"version {command['version']} gave no answer in {VERSION_SECONDS:.0f} seconds") from None
            if line is None:
                code = process.wait()
                self._process = None
                if code != -signal.SIGKILL:
                    raise ChainFailedError(f"the worker ended with code {code}, see {self._folder / 'worker.log'}")
                return None
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                return answer

    def close(self) -> None:
        """End the process and all that it started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, "-m", "tests.soak.worker", str(self._folder / "spark")]
            with (self._folder / "worker.log").open("a") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
                )
            self._lines: queue.Queue[str | None] = queue.Queue()
            threading.Thread(target=_pump, args=(self._process, self._lines), daemon=True).start()
        return self._process


def _pump(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


@dataclass
class Outcome:
    """What became of a chain."""

    kills: int = 0
    """Of those wanted, how many came before their version had ended."""
    ways: list[str] = field(default_factory=list)
    rows: int = 0


def run_chain(worker: Worker, seed: int, folder: Path, length: int = generator.VERSIONS) -> Outcome:
    """Run all versions of a chain of so many; ChainFailedError at the first difference."""
    chain, outcome, facts = generator.chain(seed, length), Outcome(), []
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, version in enumerate(chain.versions):
        answer = None
        for kill in [*range(len(version.kills)), None]:
            answer = worker.ask({"seed": seed, "length": length, "version": number, "folder": str(folder), "kill": kill})
            if answer is not None:
                break
            outcome.kills += 1
        if answer is None:
            raise ChainFailedError(f"version {number} was killed without a command")
        if "error" in answer:
            raise ChainFailedError(f"version {number} failed: {answer['error']}")
        facts.append(answer["epochs"])
        (read, watermark), latest = facts[-1][-1], latest_watermark(chain, number)
        if read != chain.first(number + 1):
            raise ChainFailedError(f"version {number} read up to {read}, not {chain.first(number + 1)}")
        # Behind the last rows Spark runs an epoch without any only for stages that something closes in time.
        least = latest - HELD_BACK - (version.step if number + 1 == len(chain.versions) else 0)
        if not least <= watermark <= latest:
            raise ChainFailedError(f"version {number} ended at watermark {watermark}, not near {latest}")
        outcome.ways += [answer["way"]] if answer["way"] else []
    compare(chain, facts, folder, outcome)
    return outcome


def compare(chain: Chain, facts: list[Facts], folder: Path, outcome: Outcome) -> None:
    """ChainFailedError unless every sink holds just the rows that it must."""
    wanted = expected(chain, facts)
    sinks: dict[str, dict[int, Stage]] = {}
    for number, version in enumerate(chain.versions):
        for stage in version.stages:
            sinks.setdefault(stage.out, {})[number] = stage
    wrong = []
    for name, users in sinks.items():
        held = _rows(folder, name, next(iter(users.values())).sink)
        outcome.rows += sum(map(len, held.values()))
        if odd := sorted(set(held) - set(users)):
            wrong.append(f"sink '{name}' has rows of version {odd[0]}, which does not write to it")
        for number, stage in users.items():
            difference = wanted[(number, stage.name)].differs(Counter(held.get(number, [])))
            if difference:
                wrong.append(f"version {number}, stage '{stage.name}', sink '{name}': {difference}")
    if wrong:
        raise ChainFailedError("\n  ".join(wrong))


def _rows(folder: Path, name: str, kind: str) -> dict[int, list[Row]]:
    """Version -> the rows of a sink."""
    target, found = folder / "out" / name, []
    if kind == "files":
        for path in sorted(target.glob("*.parquet")):
            found += pq.ParquetFile(path).read().to_pylist()
    elif kind == "custom":
        for path in sorted(target.glob("*.json")):
            found += json.loads(path.read_text())
    else:
        for entry in SqlMapStore(open_database(sqlite_url(folder / "maps.db"))).entries(name):
            found += [json.loads(entry.key)] * int(entry.value)
    rows: dict[int, list[Row]] = {}
    for columns in found:
        rows.setdefault(columns.pop("version"), []).append(row_of(columns))
    return rows
