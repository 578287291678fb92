"""The adoption of a checkpoint: judged, moved and exported as a snapshot. The checkpoint is only read."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pitstop.adoption.conversions import Conversion, conversion
from pitstop.adoption.forms import NOTHING, in_words, new_variables, orders, unused_columns
from pitstop.adoption.operators import Place, everywhere, matched
from pitstop.adoption.reading import OldSource, last_committed, offset_in_words, refuse_unless_healthy
from pitstop.adoption.sources import NewSource, matched_sources
from pitstop.adoption.words import warnings_of
from pitstop.doctor.examining import examine
from pitstop.doctor.facts import Checkpoint as Facts
from pitstop.doctor.facts import Operator, OperatorKind, spark_name_of
from pitstop.doctor.files import Tree, opened
from pitstop.errors import ConflictError, UsageError
from pitstop.kit.ids import new_lineage
from pitstop.model.adoption import AdoptedOperator, AdoptedSource, Adoption
from pitstop.model.config import StateStore
from pitstop.model.snapshot import SnapshotManifest
from pitstop.pipeline.specs import SourceSpec
from pitstop.plan.kinds import rules_of
from pitstop.plan.model import SourceSlot
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.adopting.converting import Converting, target_of, targets_of
from pitstop.spark.adopting.moving import Moving
from pitstop.spark.adopting.old_checkpoint import OldCheckpoint
from pitstop.spark.adopting.source_places import offsets_of_sources
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.session import use_partitions
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.restoring.checks import check_fed, check_operators
from pitstop.spark.restoring.feeding import Fed
from pitstop.spark.restoring.laying_down import lay_down
from pitstop.spark.restoring.offsets import pretend_to_have_run, take_over_file_logs, take_over_offsets
from pitstop.spark.restoring.saved_snapshot import SavedSnapshot
from pitstop.spark.sources import source_kind
from pitstop.spark.starting.start_point import versions


@dataclass(frozen=True)
class Request:
    """The answers of the user to what the checkpoint leaves open."""

    operators: Mapping[int, str] = field(default_factory=dict)
    """Number of an operator -> the stage that takes over its state."""
    sources: Mapping[int, str] = field(default_factory=dict)
    """Number of a source -> the source that goes on in its place."""


class Adopting:
    """An adoption under way: of the checkpoint at an address by a compiled job, in a folder of its own."""

    def __init__(self, job: CompiledJob, address: str, request: Request, sources: SourceSettings, scratch: Path) -> None:
        """Judge it. Raises an error with one sentence if the checkpoint cannot be adopted by the job."""
        if job.bounded:
            raise UsageError("All sources of the job end, so it goes on from no checkpoint: give it sources that do not end.")
        self._job, self._scratch, self._settings = job, scratch, sources
        self.tree, self.facts = _examined(address)
        refuse_unless_healthy(self.facts)
        self.epoch = last_committed(self.tree, self.facts)
        self.partitions = job.plan.partitions or self.epoch.partitions
        self._new_sources = _sources_of(job)
        self._chosen_sources = matched_sources(self.epoch.sources, list(self._new_sources.values()), request.sources)
        self._building = scratch / "building"
        places = self._laid_down()
        self._chosen = matched(self.facts.operators, places, request.operators)
        self._conversions = self._conversions_of(request)
        moved = {number: place for number, place in self._chosen.items() if number not in self._conversions}
        self._moves = everywhere(places, moved)
        self._offsets = offsets_of_sources(job, sources, self.epoch, self._chosen_sources, self._building, scratch)

    def plan(self) -> Adoption:
        """Return what becomes of each source and operator."""
        by_stage = {place.slot.stage for place in self._chosen.values()}
        chosen_sources = {source.name for source in self._chosen_sources.values()}
        operators = [
            AdoptedOperator(
                operator.number,
                in_words(operator),
                self._chosen[operator.number].slot.stage,
                converted=operator.number in self._conversions,
            )
            for operator in self.facts.operators
        ]
        return Adoption(
            self.facts.address,
            self.facts.release,
            self.epoch.number,
            self.epoch.watermark_ms,
            self.partitions,
            operators,
            [self._adopted(source) for source in self.epoch.sources],
            [stage for stage in self._job.plan.stateful if stage not in by_stage],
            [name for name in self._new_sources if name not in chosen_sources],
            [*warnings_of(self.epoch), *self._new_variables()],
        )

    def export(self, target: Path, name: str) -> Adoption:
        """Make snapshot ``name`` in the folder ``target``. ConflictError if the query has gone on meanwhile."""
        adoption = self.plan()
        old = OldCheckpoint(self.tree, self.epoch)
        operators = {operator.number: operator for operator in self.facts.operators}
        names = {number: self._spark_name(operator) for number, operator in operators.items()}
        saved = self._saved(old, operators, names)
        try:
            streams = self._converted(saved.checkpoint, operators)
            rows = {number: streams[place.slot.stage, place.slot.role].rows for number, place in self._converted_places()}
            rows |= self._moved(saved.checkpoint, operators)
        finally:
            # A query that runs removes old files, and without these the state cannot be read: the reason comes first.
            self._refuse_if_running()
        built = Checkpoint(self._building)
        take_over_offsets(saved, self._job.plan.source_slots, built, built.committed(), {})
        take_over_file_logs(saved, self._job.plan, self._building, {})
        built.begin_with(None)
        built.write_facts(built.facts() | self._notes())
        snapshot = export_checkpoint(built, target, name, self._sizes(rows))
        counted = [dataclasses.replace(each, rows=rows.get(each.number)) for each in adoption.operators]
        return dataclasses.replace(adoption, operators=counted, snapshot=snapshot)

    def _laid_down(self) -> list[Place]:
        """Lay the job's own checkpoint down, empty; return its operators."""
        use_partitions(self._job.spark, self.partitions)
        store = StateStore.ROCKSDB if self._job.plan.stateful else None
        self._job.use_store_for(None, store)
        lay_down(self._job, self._settings, self._building, self._scratch / "rows", {})
        if not self._job.plan.operators:
            return []
        check_operators(self._job.spark, self._building, 0, self._job.plan)
        raw = {stage for stage, layout in self._job.plan.stateful.items() if rules_of(layout.kind).is_plain}
        operators = examine(opened(str(self._building))).operators
        unused, targets = self._unused_columns(operators), targets_of(self._job, self._settings)
        return [
            Place(slot, operators[number], slot.stage in raw, unused.get(number, NOTHING), target_of(targets, slot))
            for number, slot in enumerate(self._job.plan.operators)
        ]

    def _conversions_of(self, request: Request) -> dict[int, Conversion]:
        """Return number of an old operator -> the way to its stage's state, where the stage has a form of its own."""
        operators = {operator.number: operator for operator in self.facts.operators}
        return {
            number: conversion(operators[number], place.target, any_names=number in request.operators)
            for number, place in self._chosen.items()
            if place.target is not None
        }

    def _converted_places(self) -> list[tuple[int, Place]]:
        return [(number, place) for number, place in self._chosen.items() if number in self._conversions]

    def _spark_name(self, operator: Operator) -> str:
        if operator.number in self._conversions:
            return spark_name_of(operator.kind)
        return str(self._chosen[operator.number].operator.spark_name)

    def _converted(self, view: Checkpoint, operators: Mapping[int, Operator]) -> dict[tuple[str, str], Fed]:
        """Lay the job's checkpoint down once more, with the state that is converted; return that by stage and role."""
        streams: dict[tuple[str, str], Fed] = {}
        converting = Converting(self._job, view, self.epoch.number, self._scratch)
        for number, place in self._converted_places():
            for role, rows in converting.fed(operators[number], place.slot.stage, self._conversions[number]).items():
                streams[place.slot.stage, role] = rows
        if streams:
            self._building = self._scratch / "with-state"
            frames = {part: each.stream for part, each in streams.items()}
            counts = lay_down(self._job, self._settings, self._building, self._scratch / "fed-rows", frames)
            check_operators(self._job.spark, self._building, 0, self._job.plan)
            check_fed(self._job.plan, streams, counts)
        return streams

    def _moved(self, view: Checkpoint, operators: Mapping[int, Operator]) -> dict[int, int]:
        """Move the state that goes on as it is; return number of an old operator -> its rows."""
        if not self._moves:
            pretend_to_have_run(Checkpoint(self._building), 0, self.epoch.watermark_ms)
            return {}
        chosen = {number: self._chosen[number] for number in self._moves.values()}
        moving = Moving(
            self._job.spark,
            view,
            self.epoch.number,
            operators,
            self._building,
            self._moves,
            {number: orders(operators[number], place.operator, place.unused) for number, place in chosen.items()},
            self.partitions,
            self.epoch.watermark_ms,
            self._scratch / "raw",
        )
        moving.move()
        return {number: moving.rows.get(place.operator.number, 0) for number, place in chosen.items()}

    def _unused_columns(self, operators: Sequence[Operator]) -> dict[int, dict[str, frozenset[str]]]:
        """Return number of a join of the job -> the columns of its sides that its stage keeps without need.

        They are those that Spark's optimizer removes where Pitstop does not let it.
        """
        if not any(operator.kind is OperatorKind.JOIN for operator in self.facts.operators):
            return {}
        folder = self._scratch / "pruned"
        lay_down(self._job, self._settings, folder, self._scratch / "pruned-rows", {}, all_rules=True)
        pruned = examine(opened(str(folder))).operators
        return {new.number: unused_columns(new, each) for new, each in zip(operators, pruned, strict=True)}

    def _saved(self, old: OldCheckpoint, operators: Mapping[int, Operator], names: Mapping[int, str]) -> SavedSnapshot:
        """Return a view of the old checkpoint as if it were a snapshot of a job."""
        folder = self._scratch / "old"
        view = old.lay(folder / manifests.FILES, operators, names)
        slots = []
        for number, source in self._chosen_sources.items():
            if not source.converts:
                old.copy_source_log(number, view.path / "sources" / str(number))
            slots.append(SourceSlot(source.name, "", number))
        plan = dataclasses.replace(self._job.plan, source_slots=tuple(slots), operators=())
        manifest = SnapshotManifest(
            name="",
            job_id="",
            job_name=None,
            lineage="",
            epoch=self.epoch.number,
            created=time.time(),
            watermark_ms=self.epoch.watermark_ms,
            plan=plan.to_dict(),
            partitions=self.epoch.partitions,
            provider=view.provider(),
            offsets=self._offsets,
            stages={},
            versions={},
        )
        return SavedSnapshot(folder, manifest)

    def _refuse_if_running(self) -> None:
        _, facts = _examined(self.facts.address)
        if (facts.logs.planned, facts.logs.committed) != (self.facts.logs.planned, self.facts.logs.committed):
            raise ConflictError(
                f"The query of checkpoint {self.facts.address} is running: it has gone on to epoch {facts.logs.planned}. "
                "Stop it, and adopt the checkpoint then."
            )

    def _notes(self) -> dict[str, object]:
        plan = self._job.plan
        return {
            "job_id": self.facts.query_id or "adopted",
            "job_name": None,
            "lineage": new_lineage(),
            "plan": plan.to_dict(),
            "sources": [[slot.stage, slot.reader] for slot in plan.source_slots],
            "versions": versions(),
        }

    def _sizes(self, rows: Mapping[int, int]) -> dict[str, dict[str, Any]]:
        """Return the contents of each stage's state, as the manifest of a snapshot has them.

        ``rows``: number of an old operator -> its rows.
        """
        numbers: dict[str, list[int]] = {}
        for number, slot in enumerate(self._job.plan.operators):
            if slot.copy == 0:
                numbers.setdefault(slot.stage, []).append(number)
        counts = dict.fromkeys(numbers, 0)
        for number, place in self._chosen.items():
            counts[place.slot.stage] += rows.get(number, 0)
        return {stage: {"operators": own, "rows": counts[stage]} for stage, own in numbers.items()}

    def _adopted(self, source: OldSource) -> AdoptedSource:
        new = self._chosen_sources.get(source.facts.number)
        by = self._offsets[new.name][""] if new is not None and new.converts else None
        return AdoptedSource(source.facts.number, str(source.kind), offset_in_words(source), new.name if new else None, by)

    def _new_variables(self) -> list[str]:
        operators = {operator.number: operator for operator in self.facts.operators}
        variables = (
            (place.slot.stage, new_variables(operators[number], place.operator)) for number, place in self._chosen.items()
        )
        return [
            f"Stage '{stage}' has variables that the checkpoint does not have, which begin empty: {', '.join(names)}."
            for stage, names in variables
            if names
        ]


def _examined(address: str) -> tuple[Tree, Facts]:
    tree = opened(address)
    return tree, examine(tree)


def _sources_of(job: CompiledJob) -> dict[str, NewSource]:
    """Return the sources of the query that can go on for a reader of Spark's own, by name."""
    sources = {}
    read = {slot.stage for slot in job.plan.source_slots}
    for node in job.pipeline.nodes:
        if not isinstance(node.spec, SourceSpec) or node.name not in read:
            continue
        source, kind = node.source, source_kind(node)
        topics = source.options.get("topics", "")
        sources[node.name] = NewSource(
            node.name,
            source.kind,
            source.options.get("format"),
            kind.folder(source),
            tuple(name for name in topics.split(",") if name),
            source.options.get("pattern"),
            node.name in job.pipeline.offset_migrations,
        )
    return sources
