"""A compiled pipeline as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pitstop.model.layout import StageKind, StateLayout

PLAN_VERSION = 1
_TRANSACTIONAL = ("sink map", "sink files")
"""Descriptions of the transactional sinks, for plans that do not yet mark each sink as transactional or not."""


@dataclass(frozen=True)
class OperatorSlot:
    """One stateful Spark operator of the query, at the position that is its number in Spark.

    ``role`` tells the operators of one stage apart: ``frames`` and ``windows`` of a window aggregate. A stage read by two
    branches that Spark cannot share appears once for each (``copy`` 0, 1, ...).
    """

    stage: str
    role: str
    copy: int = 0


@dataclass(frozen=True)
class SourceSlot:
    """One reader of a source in the query. Spark opens a source anew for every branch that reads it.

    ``reader`` is the nearest stateful stage below it, or empty: it tells the readers of one source apart when a
    changed plan takes over their offsets.
    """

    stage: str
    reader: str
    relation: int | None = None
    """The number of the folder ``sources/<relation>`` in which Spark keeps what a reader has read; equal readers share one. None:
    the plan is older than this field."""


@dataclass(frozen=True)
class PlanStage:
    """One stage of a compiled pipeline."""

    name: str
    kind: StageKind
    op: str
    """The name of its kind of spec."""
    inputs: tuple[str, ...]
    """The names of the stages that it reads."""
    description: str
    """A description of its work, in a few words; for a source its kind, for a sink ``sink`` and its kind."""
    location: str = ""
    """The place where it was defined: ``file.py:12``."""
    layout: StateLayout | None = None
    """The form of its state; None without state."""
    columns: tuple[tuple[str, str], ...] = ()
    """(column, Spark type as text) of the rows that it gives."""
    migration: str | None = None
    """The name of the user's function from its old state to its new one."""
    transactional: bool = False
    """True for a sink that knows which epochs it has."""
    folder: str | None = None
    """The folder of all files, as a URL, for a source whose files Spark knows by their whole paths."""
    place: str | None = None
    """The place where a sink writes, if two jobs must not write there (spark.sinks.SinkKind); the folder that a source reads."""
    settings: str | None = None
    """The digest of all that a source's reader is told, which recognizes it under another name. None: the plan is older."""
    concern: str | None = None
    """A concern about the place that a source reads or a sink writes to: a clause that goes on ``Source 'name' (place) ...``."""
    adds: bool = False
    """True for a sink whose rows come beside those that its place has already, also if they are the same."""
    reads_sinks: tuple[str, ...] | None = None
    """The sinks of the same plan whose rows a source reads as they come. None: of an older plan, or no source of a stream."""

    @property
    def connector(self) -> str:
        """The description without the use: ``sink map`` of ``sink map, newest by ts``."""
        return self.description.partition(",")[0]

    @property
    def concern_sentence(self) -> str:
        """The concern with the stage and its place in the code."""
        return f"{'Sink' if self.kind is StageKind.SINK else 'Source'} '{self.name}' ({self.location}) {self.concern}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind.value,
            "op": self.op,
            "inputs": list(self.inputs),
            "description": self.description,
            "location": self.location,
            "layout": self.layout.to_dict() if self.layout else None,
            "columns": [list(pair) for pair in self.columns],
            "migration": self.migration,
            "transactional": self.transactional,
            **({"folder": self.folder} if self.folder is not None else {}),
            **({"place": self.place} if self.place is not None else {}),
            **({"settings": self.settings} if self.settings is not None else {}),
            **({"concern": self.concern} if self.concern is not None else {}),
            **({"adds": True} if self.adds else {}),
            **({"reads_sinks": list(self.reads_sinks)} if self.reads_sinks is not None else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PlanStage:
        return cls(
            name=data["name"],
            kind=StageKind(data["kind"]),
            op=data["op"],
            inputs=tuple(data["inputs"]),
            description=data["description"],
            location=data.get("location", ""),
            layout=StateLayout.from_dict(data["layout"]) if data.get("layout") else None,
            columns=tuple((a, b) for a, b in data.get("columns", ())),
            migration=data.get("migration"),
            transactional=data.get("transactional", data["description"] in _TRANSACTIONAL),
            folder=data.get("folder"),
            place=data.get("place"),
            settings=data.get("settings"),
            concern=data.get("concern"),
            adds=data.get("adds", False),
            reads_sinks=tuple(data["reads_sinks"]) if "reads_sinks" in data else None,
        )


@dataclass(frozen=True)
class Plan:
    """Stages in the order in which they were defined, and the stateful operators in Spark's order."""

    stages: tuple[PlanStage, ...]
    operators: tuple[OperatorSlot, ...] = ()
    source_slots: tuple[SourceSlot, ...] = ()
    """Readers of sources, in the order in which the query numbers them."""
    partitions: int | None = None
    """The number of shuffle partitions that the user asked for, or that follows the members; None: as many as saved state has."""
    version: int = PLAN_VERSION

    def stage(self, name: str) -> PlanStage | None:
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def stateful(self) -> dict[str, StateLayout]:
        """Stage name -> layout, of the stages that keep state in operators."""
        return {s.name: s.layout for s in self.stages if s.layout is not None}

    @property
    def concerns(self) -> tuple[str, ...]:
        """The concerns about the places that its sources read and its sinks write into, a sentence each."""
        return tuple(stage.concern_sentence for stage in self.stages if stage.concern is not None)

    @property
    def sources(self) -> dict[str, PlanStage]:
        return {s.name: s for s in self.stages if s.kind is StageKind.SOURCE}

    @property
    def read(self) -> set[str]:
        """The names of the sources with a saved place in them, without those that only feed tables of hash joins."""
        return {slot.stage for slot in self.source_slots}

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "stages": [stage.to_dict() for stage in self.stages],
            "operators": [[slot.stage, slot.role, slot.copy] for slot in self.operators],
            "source_slots": [[slot.stage, slot.reader, slot.relation] for slot in self.source_slots],
            "partitions": self.partitions,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        return cls(
            stages=tuple(PlanStage.from_dict(stage) for stage in data["stages"]),
            operators=tuple(OperatorSlot(*slot) for slot in data["operators"]),
            source_slots=tuple(SourceSlot(*slot) for slot in data["source_slots"]),
            partitions=data.get("partitions"),
            version=data.get("version", PLAN_VERSION),
        )
