"""The job of a story: chains of stateful stages over events that are released bit by bit, and a stage that may go wrong."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyspark.cloudpickle

import pitstop as ps
from tests.spark import chains, sequence
from tests.spark.chains import KEYS, KINDS, PAUSE, Chain, follow
from tests.spark.sequence import SCHEMA, Sequence, SequenceReader

STEP, BURST = 3_000, 1_500
"""Most events that an epoch takes; and so many come before each pause."""
LEAD = 60_000
"""How many ms of event time the other side of joins is ahead, so that a row finds its match in its own epoch."""
SHOWN = 50
"""Of each so manieth event the guard tells how many of its key there were."""
GUARD = "guard"
BESIDE = "beside"
Line = tuple[str, ...]
"""Kinds of stages (tests/spark/chains.py), one behind the other."""


@dataclass(frozen=True)
class Version:
    """What a version of a story's job is to do."""

    mark: int
    """Stands in every row that it writes."""
    lines: tuple[Line, ...]
    folder: str
    """Where sinks write, and the number of released events stands."""
    name: str
    """Maps begin with it."""
    turned: bool = False
    """The lines in reverse order, and another stage beside them."""

    @classmethod
    def from_text(cls, text: str) -> Version:
        found = json.loads(text)
        return cls(**found | {"lines": tuple(map(tuple, found["lines"]))})

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    def fault(self, kind: str) -> Path:
        """While this file is there the version goes wrong: it ``raises`` or ``hangs`` at a row, or ``loads`` for ever."""
        return Path(self.folder) / f"{kind}-{self.mark}"


def dropped_stages(before: Version, after: Version) -> list[str]:
    """Return the stages of ``before`` whose saved state ``after`` has no use for."""
    return [BESIDE] if before.turned and not after.turned else []


def released_file(folder: str | Path) -> Path:
    """The file that says how many events have been released."""
    return Path(folder) / "released"


class ReleasedReader(SequenceReader):
    """Gives no more events than have been released, or so many of the leading source as lie before their time and the lead."""

    def latestOffset(self, start: Any, limit: Any) -> Any:
        with open(self.file) as file:
            released = int(file.read())
        if self.lead:
            released += released // BURST * PAUSE + self.lead
        return {"seq": max(start["seq"], min(start["seq"] + self.step, released)), "of": self.rows}


class Released(Sequence):
    @classmethod
    def name(cls) -> str:
        return "released_sequence"

    def streamReader(self, schema: Any) -> ReleasedReader:
        reader = ReleasedReader(self.options)
        reader.file, reader.lead = self.options["file"], int(self.options["lead"])
        return reader


class ReleasedChain(Chain):
    """The sources of tests/spark/chains.py, released bit by bit."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._file, self.timed = str(released_file(folder)), {}

    def _source(self, name: str, every: int, **options: Any) -> Any:
        if name not in self.sources:
            ahead = name == "others"
            taken = {"step": 10**9, "lead": LEAD} if ahead else {"step": STEP, "lead": 0, "burst": BURST, "pause": PAUSE}
            source = ps.sources.custom(Released, schema=SCHEMA, rows=10**9, keys=KEYS, file=self._file, **taken)
            self.timed[name] = self.pipeline.read_from(source, name=name).with_timestamps("ts", allowed_lag="2 seconds")
            self.sources[name] = self.timed[name].filter(f"seq % {every} = 0").select("key", "v", "ts")
        return self.sources[name]


def pipeline(version: Version) -> ps.Pipeline:
    """Each line ends in files or in a map by turns; the guard, which counts the events of each key, in both."""
    for module in (sequence, chains, __import__(__name__, fromlist=["here"])):
        pyspark.cloudpickle.register_pickle_by_value(module)
    if version.fault("loads").exists():
        time.sleep(10_000)
    chain = ReleasedChain(version.folder)
    source = chain.source()
    for number, line in _in_order(version):
        chain.name, chain.count = f"{number} ", 0
        rows = follow(chain, source, [KINDS[name] for name in line])
        rows = rows.select("key", "v", "unix_millis(ts) as ms", f"{version.mark} as version")
        _write(version, rows, sink_of(number), f"line{number}")
    counted = chain.timed["numbers"].group_by("key").map_stateful(GUARD, guard(version), "n bigint", "v bigint, ms bigint")
    counted = counted.select("key", "v", "ms", f"{version.mark} as version")
    _write(version, counted, "files", f"{GUARD}-files")
    _write(version, counted, "map", f"{GUARD}-map")
    if version.turned:
        source.group_by("key", "v").distinct(BESIDE).write_to(ps.sinks.noop(), name=f"{BESIDE} out")
    return chain.pipeline


def _in_order(version: Version) -> list[tuple[int, Line]]:
    numbered = list(enumerate(version.lines))
    return numbered[::-1] if version.turned else numbered


def sink_of(number: int) -> str:
    """Where a line ends."""
    return ("files", "map")[number % 2]


def _write(version: Version, rows: Any, sink: str, name: str) -> None:
    if sink == "files":
        rows.write_to(ps.sinks.files(os.path.join(version.folder, "out", name)), name=name)
    else:
        entries = rows.select("to_json(struct(key, v, ms, version)) as id")
        entries.write_to(ps.sinks.map(map_of(version.name, name), key="id", value="1", merge=added), name=name)


def map_of(name: str, sink: str) -> str:
    return f"{name}-{sink}"


def added(old: Any, new: Any) -> Any:
    """How often a row was written."""
    return (old or 0) + new


def guard(version: Version) -> Any:
    """Counts the events of a key; where the version goes wrong, it does so here."""
    raises, hangs = str(version.fault("raises")), str(version.fault("hangs"))

    def counts(state: Any, row: Any) -> Any:
        if os.path.exists(raises):
            raise ValueError("a row that nobody had thought of")
        if os.path.exists(hangs):
            time.sleep(10_000)
        state.n = (state.n or 0) + 1
        return None if row.seq % SHOWN else (state.n, row.seq)

    return counts


def plain_guard(released: int) -> list[tuple[int, int, int]]:
    """What the guard gives in all: (key, how many of its key so far, the event)."""
    counts, found = [0] * KEYS, []
    for seq in range(released):
        key = (seq * 7919) % KEYS
        counts[key] += 1
        if seq % SHOWN == 0:
            found.append((key, counts[key], seq))
    return found
