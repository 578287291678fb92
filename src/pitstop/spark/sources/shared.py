"""The common parts of all our sources: options, and agreement between several readers of one source.

Spark opens a source anew for every branch of a query that reads it. So that all branches see the same rows in the same epoch, the
readers of one stage agree in a file on where each epoch ends. The first reader decides, and a later one that starts at the same
offset takes that decision. Offsets of another source mean something else, so a version of the job whose stage reads another
source has another file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pitstop.errors import EngineError, UsageError
from pitstop.kit.canonical import dumps, fingerprint
from pitstop.spark.base.admission import Throttle
from pitstop.spark.internals.source_process import end_without_trace
from pitstop.spark.sources.log import SourceLog

Offset = dict[str, Any]
MOST_PARTS = 100
"""The most parts of a source whose lag is told by name."""
SMALL_ROWS, SMALL_BYTES = 5_000, 512 << 10
"""The most rows, and bytes, of an epoch that is read at once, where it is planned."""
GATE = "gate"
GATE_SECONDS = 1800.0
OF_THE_RUN = frozenset({"job", "stage", "store", "storeFactory", "admission", "agreements", GATE, "startOffset"})
"""The options that tell readers about their run. All other options say what is read."""
_STEP = 0.01
_WAITS = ".waits"


@dataclass(frozen=True)
class Behind:
    """The lag of a source: the amount that is there and not in the epoch that has just been decided. Any kind may tell it."""

    amount: int
    unit: str
    """``bytes``, ``events``, ``messages`` or ``rows``."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Part of the source, such as ``orders:0`` for a partition of a topic -> its share of the amount."""
    parts_in_all: int = 0
    """The number of parts, of which ``parts`` may name only those that are furthest behind; 0: as many as it names."""

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in a file of agreements."""
        furthest = sorted(self.parts.items(), key=lambda part: -part[1])[:MOST_PARTS]
        shares = {"parts": dict(furthest), "of": self.parts_in_all or len(self.parts)} if furthest else {}
        return {"behind": [self.amount, self.unit], **shares}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Behind | None:
        """Return the lag in a file of agreements; None if its source does not know."""
        if facts.get("behind") is None:
            return None
        amount, unit = facts["behind"]
        parts = {str(name): int(share) for name, share in facts.get("parts", {}).items()}
        return cls(int(amount), str(unit), parts, int(facts.get("of", len(parts))))


def reached(gate: Path) -> Path:
    """Return the file that says that a source waits at the gate."""
    return gate.with_name(f"{gate.name}.reached")


def _wait_at(gate: Path) -> None:
    # The parent first: once the gate is seen to be reached, it may be killed at any moment.
    deadline, parent = time.monotonic() + GATE_SECONDS, os.getppid()
    reached(gate).touch()
    while not gate.exists():
        if os.getppid() != parent:
            raise EngineError("The process that started the query is gone, so it is not let go.")
        if time.monotonic() > deadline:
            raise EngineError(f"The query was not let go within {GATE_SECONDS:.0f} seconds.")
        time.sleep(_STEP)


class SourceOptions:
    """Options of a source, with the ones that every source has.

    ``stage`` and ``job`` name it in the log; ``startOffset`` is the JSON text of the offset to begin at, for a query
    without a checkpoint; ``admission`` is the file of spark.base.admission; ``agreements`` the folder of agreements; ``gate`` a
    file before which the source is not to be ready (spark.starting.gated_query).
    """

    def __init__(self, kind: str, options: Mapping[str, str]) -> None:
        self._options = options
        self.stage = options.get("stage", kind)
        self.job = options.get("job", "job")
        self.log = SourceLog(kind, self.stage)
        self.agreement = Agreement(Path(options["agreements"]), self.stage, self._source()) if "agreements" in options else None
        self.limited = Throttle(options.get("admission")).limited
        """Limits a usual amount to the amount that the next epoch may bring."""
        self.behind: Behind | None = None
        """Set by a reader that decides where an epoch ends and knows how much is there beyond: None where nobody can know."""
        self.waiting = Waiting(Path(options["agreements"]) if "agreements" in options else None, self.stage)
        end_without_trace()
        if GATE in options:
            _wait_at(Path(options[GATE]))

    def _source(self) -> dict[str, str]:
        """Return the options that say what is read, with names in lower case, as Spark has them."""
        of_the_run = {name.lower() for name in OF_THE_RUN}
        named = {name.lower(): str(value) for name, value in self._options.items()}
        return {name: value for name, value in named.items() if name not in of_the_run}

    def text(self, name: str, default: str | None = None) -> str:
        value = self._options.get(name, default)
        if value is None:
            raise UsageError(f"Source '{self.stage}' needs the option {name}.")
        return str(value)

    def number(self, name: str, default: int) -> int:
        value = self._options.get(name, default)
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"Source '{self.stage}': option {name} is {value!r}; it must be a whole number.") from None

    def start_offset(self, default: Offset) -> Offset:
        """Return the place where a query without a checkpoint begins: ``startOffset`` if given.

        UsageError if that is no offset.
        """
        text = self._options.get("startOffset")
        if text is None:
            return default
        try:
            offset = json.loads(text)
        except ValueError:
            offset = None
        if not isinstance(offset, dict) or not default.keys() <= offset.keys():
            raise UsageError(f"Source '{self.stage}': startOffset is {text!r}; an offset looks like {dumps(default)}.")
        return offset

    def agreed(self, start: Offset, decide: Callable[[], Offset]) -> Offset:
        """Return the end of the epoch from ``start``: as another reader of the stage has decided, or as ``decide()`` says."""
        return decide() if self.agreement is None else self.agreement.end_of(start, decide, lambda: self.behind)


class Agreement:
    """One small file for each source of a stage: the last decision {start, end}, and how much the source is behind after it."""

    def __init__(self, folder: Path, stage: str, source: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Earlier releases named it by the stage alone. What stands there is not needed: all readers of a run are of one release,
        # and what has become an epoch is in Spark's own log of offsets.
        self._stage = stage
        self._path = folder / f"{fingerprint([stage, dict(source)])}.json"

    def end_of(self, start: Offset, decide: Callable[[], Offset], behind: Callable[[], Behind | None] = lambda: None) -> Offset:
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            decision = _decision(file.read())
            if decision.get("start") == dumps(start):
                return dict(decision["end"])
            end = decide()
            if end != start:
                file.truncate(0)
                lag = behind()
                decision = {"start": dumps(start), "end": end, "stage": self._stage}
                file.write(json.dumps(decision | (lag.to_json() if lag is not None else {"behind": None})))
            return end


class Waiting:
    """Tells the run which folder a source waits for, in a small file that is there as long as it waits."""

    def __init__(self, folder: Path | None, stage: str) -> None:
        self._path = folder / f"{fingerprint([stage])}{_WAITS}" if folder is not None else None
        self._stage = stage
        self._told: str | None = ""
        """The last folder that was told; empty: nothing was, and the file may be there from an earlier run."""

    def tell(self, awaited: str | None) -> None:
        """Tell that the source waits for a folder; None: it waits for none."""
        if self._path is None or awaited == self._told:
            return
        try:
            if awaited is None:
                self._path.unlink(missing_ok=True)
            else:
                whole = self._path.with_suffix(f".{os.getpid()}")
                whole.write_text(json.dumps({"stage": self._stage, "folder": awaited}))
                whole.replace(self._path)
        except OSError:
            return  # nobody must fail for it; the next look tells it
        self._told = awaited


def waits_of(folder: Path) -> dict[str, str]:
    """Return the folders that the sources of a run wait for, by stage, as their readers tell in the folder of agreements."""
    waits: dict[str, str] = {}
    for path in sorted(folder.glob(f"*{_WAITS}")):
        with contextlib.suppress(OSError, ValueError):
            fact = json.loads(path.read_text())
            waits[str(fact["stage"])] = str(fact["folder"])
    return waits


def behind_of(folder: Path) -> dict[str, Behind]:
    """Return how much the sources of a run are behind, by stage, as their readers have said in the folder of agreements.

    That is what was there when the end of the last epoch was decided, and is not in that epoch. Sources that cannot know have
    none.
    """
    # A stage that read another source before has an older file of that one, too.
    amounts: dict[str, Behind] = {}
    for path in sorted(folder.glob("*.json"), key=_changed):
        try:
            decision = _decision(path.read_text())
        except OSError:
            continue
        stage = decision.get("stage")
        if stage is not None:
            amounts.pop(stage, None)
            lag = Behind.from_json(decision)
            if lag is not None:
                amounts[stage] = lag
    return amounts


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _decision(text: str) -> dict[str, Any]:
    """Return the recorded decision; none if its writer was killed while it wrote, because then nobody has acted on it."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}
