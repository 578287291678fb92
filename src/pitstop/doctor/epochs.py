"""Reads the logs of epochs, and finds out what of them a restart reads."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from pitstop.doctor.examination import Examination
from pitstop.doctor.facts import Logs
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.flaws import Flaw
from pitstop.doctor.logs import (
    CommittedEpoch,
    FutureError,
    PlannedEpoch,
    UnreadableError,
    committed_epoch,
    planned_epoch,
    query_id,
)
from pitstop.doctor.numbers import missing_between
from pitstop.doctor.stores import IdOf
from pitstop.kit.counts import counted

Epoch = TypeVar("Epoch", PlannedEpoch, CommittedEpoch)
OFFSETS, COMMITS, METADATA = "offsets", "commits", "metadata"
_COPY_ADVICE = "Restore the file from a copy of the checkpoint, or go back to an earlier epoch (docs/doctor.md)."


@dataclass
class EpochLogs:
    """The logs, by epoch, and what follows from them."""

    query_id: str | None = None
    planned: dict[int, PlannedEpoch] = field(default_factory=dict)
    committed: dict[int, CommittedEpoch] = field(default_factory=dict)
    planned_numbers: list[int] = field(default_factory=list)
    committed_numbers: list[int] = field(default_factory=list)
    committed_at: float | None = None

    @property
    def last_planned(self) -> int | None:
        return self.planned_numbers[-1] if self.planned_numbers else None

    @property
    def last_committed(self) -> int | None:
        return self.committed_numbers[-1] if self.committed_numbers else None

    @property
    def last(self) -> PlannedEpoch | None:
        """The newest planned epoch that can be read."""
        return self.planned[max(self.planned)] if self.planned else None

    @property
    def settings(self) -> dict[str, str]:
        return self.last.settings if self.last is not None else {}

    @property
    def has_ids(self) -> bool:
        """True in checkpoint format 2: files of state bear ids, which the commits name."""
        return any(commit.state_ids for commit in self.committed.values())

    @property
    def restart_epoch(self) -> int:
        """The epoch that a start runs next: the last planned one, if it is not committed, else the one after it.

        Its number is the version of state that it begins with, too.
        """
        planned, committed = self.last_planned, self.last_committed
        if planned is None:
            return 0 if committed is None else committed + 1
        return planned + 1 if planned == committed else planned

    def id_of(self, operator: int, partition: int, store: int) -> IdOf:
        """Return the function that tells a version's id in one store, by its place among the operator's."""

        def identifier(version: int) -> str | None:
            commit = self.committed.get(version - 1)
            partitions = commit.state_ids.get(operator, ()) if commit is not None else ()
            stores = partitions[partition] if partition < len(partitions) else ()
            return stores[store] if store < len(stores) else None

        return identifier

    @property
    def facts(self) -> Logs:
        """The logs in figures."""
        first = self.planned[min(self.planned)] if self.planned else None
        commit = self.committed.get(self.last_committed) if self.last_committed is not None else None
        watermark = commit.watermark_ms if commit is not None else self.last.watermark_ms if self.last is not None else None
        return Logs(
            planned=self.last_planned,
            committed=self.last_committed,
            oldest_planned=self.planned_numbers[0] if self.planned_numbers else None,
            oldest_committed=self.committed_numbers[0] if self.committed_numbers else None,
            planned_ms=self.last.planned_ms if self.last is not None else None,
            first_planned_ms=first.planned_ms if first is not None else None,
            committed_at=self.committed_at,
            watermark_ms=watermark,
            offset_format=self.last.format if self.last is not None else None,
            commit_format=commit.format if commit is not None else None,
        )


def read_logs(examination: Examination) -> EpochLogs:
    """Return the logs, with findings on files of them that cannot be read, are missing or do not fit together."""
    tree, logs = examination.tree, EpochLogs()
    logs.query_id = _identifier(examination)
    logs.planned_numbers, logs.committed_numbers = tree.numbers(OFFSETS), tree.numbers(COMMITS)
    planned, committed = logs.last_planned, logs.last_committed
    needed_plans = {planned, planned - 1} if planned else {planned}
    needed_commits = {committed}
    logs.planned = _read(examination, OFFSETS, logs.planned_numbers, planned_epoch, needed_plans, Code.OFFSETS_UNREADABLE)
    logs.committed = _read(examination, COMMITS, logs.committed_numbers, committed_epoch, needed_commits, Code.COMMIT_UNREADABLE)
    if committed is not None and (facts := tree.facts(f"{COMMITS}/{committed}")) is not None:
        logs.committed_at = facts.modified
    _fit(examination, logs)
    _gaps(examination, logs)
    return logs


def _identifier(examination: Examination) -> str | None:
    try:
        return examination.inspector.parsed(METADATA, query_id)
    except UnreadableError as error:
        missing = error.flaw is Flaw.MISSING
        begun = bool(examination.tree.numbers(OFFSETS))
        examination.find(
            Code.METADATA_MISSING if missing else Code.METADATA_UNREADABLE,
            Severity.DAMAGE,
            f"File {METADATA}, which holds the query's id, {error}. "
            + (
                "Spark 4.2 and later do not start from the checkpoint. Earlier releases start as another query, and sinks that "
                "recognise a query by its id write rows again."
                if missing and begun
                else "Spark does not start from the checkpoint."
                if not missing
                else "Spark creates it when the query starts."
            ),
            [METADATA],
            advice="Restore the file from a copy, or write it again as "
            '{"id":"<id>"}, with the id from the logs or progress reports of the query.',
        )
        return None


def _read(
    examination: Examination,
    folder: str,
    numbers: list[int],
    parse: Callable[[bytes], Epoch],
    needed: Collection[int | None],
    code: Code,
) -> dict[int, Epoch]:
    """Return the readable epochs of a log. A file that a restart reads and cannot is damage, another one is a note."""
    epochs: dict[int, Epoch] = {}
    for number in numbers:
        name = f"{folder}/{number}"
        try:
            epochs[number] = examination.inspector.parsed(name, parse)
        except FutureError as error:
            examination.find(
                Code.LATER_FORMAT,
                Severity.DAMAGE if number in needed else Severity.NOTE,
                f"File {name} cannot be read: {error.detail}.",
                [name],
                advice="Read it with the release of Spark that wrote it.",
            )
        except UnreadableError as error:
            if number in needed:
                examination.find(code, Severity.DAMAGE, f"File {name} {error}. A restart reads it.", [name], advice=_COPY_ADVICE)
            else:
                examination.find(Code.OLD_DAMAGE, Severity.NOTE, f"File {name} {error}. A restart does not read it.", [name])
    return epochs


def _fit(examination: Examination, logs: EpochLogs) -> None:
    """Find what of the two logs does not fit together."""
    planned, committed = logs.last_planned, logs.last_committed
    if planned is None and committed is None:
        examination.find(Code.NO_EPOCH, Severity.NOTE, "The query has not planned an epoch yet: a start begins from nothing.")
        return
    if planned is None:
        examination.find(
            Code.OFFSETS_MISSING,
            Severity.DAMAGE,
            f"Epochs up to {committed} are committed, but folder {OFFSETS} is empty: a restart does not know where to continue.",
            [OFFSETS],
            advice=_COPY_ADVICE,
        )
        return
    may_be_sparse = _may_be_sparse(examination, logs)
    if planned > 0 and planned - 1 not in logs.planned_numbers and not may_be_sparse:
        name = f"{OFFSETS}/{planned - 1}"
        examination.find(
            Code.OFFSETS_MISSING,
            Severity.DAMAGE,
            f"File {name} is missing. A restart needs it to find where epoch {planned} begins.",
            [name],
            advice=_COPY_ADVICE,
        )
    last = -1 if committed is None else committed
    if last > planned:
        examination.find(
            Code.COMMITS_AHEAD,
            Severity.DAMAGE,
            f"Epoch {last} is committed, but the last planned epoch is {planned}. Files of {OFFSETS} are missing, and a restart "
            f"runs epoch {planned} again.",
            [f"{OFFSETS}/{number}" for number in missing_between((), planned + 1, last)[1]],
            advice=_COPY_ADVICE,
            total=last - planned,
        )
    elif last == planned - 1 or (may_be_sparse and last == logs.planned_numbers[-2]):
        examination.find(
            Code.EPOCH_UNFINISHED,
            Severity.WARNING,
            f"Epoch {planned} was planned and not committed: the next start runs it again with the same offsets. A sink that "
            "does not know epochs, such as Kafka or foreachBatch without a check of the epoch's number, may get its rows twice.",
            [f"{OFFSETS}/{planned}"],
        )
    elif last < planned - 1:
        since = f"the last committed one is {last}" if committed is not None else "none is committed"
        examination.find(
            Code.OFFSETS_AHEAD,
            Severity.DAMAGE,
            f"Epoch {planned} is the last planned one, and {since}. A restart treats epochs {last + 1} to {planned - 1} as done, "
            f"and runs only epoch {planned}.",
            [f"{COMMITS}/{number}" for number in missing_between((), last + 1, planned - 1)[1]],
            advice=_COPY_ADVICE,
            total=planned - 1 - last,
        )


def _may_be_sparse(examination: Examination, logs: EpochLogs) -> bool:
    """Return True if the logs may be those of asynchronous progress tracking, which writes both of them at intervals.

    It is for queries without state. A commit without its plan, or several plans without commits, is none of its doing.
    """
    planned, committed = set(logs.planned_numbers), logs.committed_numbers
    if "state" in examination.tree.children.get("", set()) or len(planned) < 2 or not committed:
        return False
    oldest, newest = logs.planned_numbers[0], logs.planned_numbers[-1]
    fits = all(number in planned for number in committed if number >= oldest) and committed[-1] >= logs.planned_numbers[-2]
    return fits and newest - oldest >= len(planned)


def _gaps(examination: Examination, logs: EpochLogs) -> None:
    """Find epochs that are missing between others, and that a restart does not read."""
    if _may_be_sparse(examination, logs):
        first, last = logs.planned_numbers[0], logs.planned_numbers[-1]
        total, missing = missing_between(logs.planned_numbers, first, last)
        examination.find(
            Code.SPARSE_LOGS,
            Severity.WARNING,
            f"{counted(total, 'epoch')} between {first} and {last} {'is' if total == 1 else 'are'} in neither log. The query has "
            "no state, so it may use asyncProgressTrackingEnabled, which writes logs at intervals. Otherwise files were lost.",
            [f"{OFFSETS}/{number}" for number in missing],
            advice="If the query does not set asyncProgressTrackingEnabled, restore the files from a copy of the checkpoint.",
            total=total,
        )
    for folder, numbers, others in (
        (OFFSETS, logs.planned_numbers, logs.committed_numbers),
        (COMMITS, logs.committed_numbers, logs.planned_numbers),
    ):
        if not numbers:
            continue
        first, last = numbers[0], numbers[-1]
        # The one before the last is a finding of its own.
        present = {*numbers, last - 1} if folder == OFFSETS else set(numbers)
        if _may_be_sparse(examination, logs):
            missing = sorted(number for number in set(others) - present if first < number < last)
            total = len(missing)
        else:
            total, missing = missing_between(present, first, last)
        if total:
            sample = ", ".join(map(str, missing[:5])) + (", ..." if total > 5 else "")
            examination.find(
                Code.LOG_GAP,
                Severity.WARNING,
                f"{counted(total, 'file')} of {folder} between {first} and {last} {'is' if total == 1 else 'are'} "
                f"missing: {sample}. A restart does not read them, but going back to an epoch does.",
                [f"{folder}/{number}" for number in missing],
                total=total,
            )
