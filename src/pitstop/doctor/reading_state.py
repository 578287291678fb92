"""Reads the files of state stores that a restart reads, and looks at the older ones as far as there is time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pitstop.doctor.epochs import EpochLogs
from pitstop.doctor.examination import Examination
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.flaws import Flaw
from pitstop.doctor.logs import UnreadableError
from pitstop.doctor.numbers import missing_between
from pitstop.doctor.stores import ARCHIVED_LOGS, DEFAULT, TABLES, Chain, IdOf, Store, chain
from pitstop.kit.counts import counted

MOST_OLDER = 2_000
"""The number of files that no restart reads which are looked at, unless all are asked for."""
_SHOWN = 3
_ADVICE = "Restore the files from a copy of the checkpoint, or go back to an epoch whose state is complete (docs/doctor.md)."


@dataclass
class StateFacts:
    """The state of one operator as a restart finds it."""

    version: int | None = None
    snapshot_version: int | None = None
    replayed: int = 0
    restart_bytes: dict[str, int] = field(default_factory=dict)
    """Folder of a store -> bytes that a restart reads."""
    keys: dict[str, int | None] = field(default_factory=dict)

    def keys_of(self, stores: list[Store]) -> int | None:
        """Return the keys in the snapshots of a partition's stores; None unless all are counted."""
        numbers = [self.keys.get(store.folder) for store in stores]
        counted_keys = [number for number in numbers if number is not None]
        return sum(counted_keys) if counted_keys and len(counted_keys) == len(numbers) else None


class StateReader:
    """Reads the state of one operator after the other."""

    def __init__(self, examination: Examination, logs: EpochLogs) -> None:
        self._examination, self._logs = examination, logs
        self.rocksdb: str | None = None
        """The version of RocksDB that wrote the newest snapshot that was read."""
        self._read: set[str] = set()
        self._stores: list[Store] = []

    def read(self, operator: int, names: list[str], stores: list[Store], partitions: int) -> StateFacts:
        """Return the facts of an operator's state, with findings on files that are missing or have a flaw."""
        version = self._logs.restart_epoch
        facts = StateFacts(version=version)
        self._stores += stores
        if version == 0:
            facts.restart_bytes = {store.folder: 0 for store in stores}
            return facts
        self._find_partitions(operator, names, stores, partitions)
        missing: list[str] = []
        missing_count = 0
        flaws: dict[str, Flaw] = {}
        replaced: dict[str, Flaw] = {}
        bases: list[int] = []
        for store in stores:
            identifier = self._logs.id_of(operator, store.partition, names.index(store.name))
            parts = chain(store, version, identifier)
            bases.append(parts.base_version if parts.base is not None else 0)
            facts.replayed = max(facts.replayed, len(parts.changes))
            if parts.missing and store.versions:  # a store without any file is a finding of its own
                missing += [store.path(name) for name in parts.missing]
                missing_count += parts.missing_count
            flaws_here = self._flaws(store, parts, facts)
            if flaws_here and self._can_do_without(store, parts, identifier, flaws_here):
                replaced |= flaws_here
            else:
                flaws |= flaws_here
        facts.snapshot_version = min(bases, default=0) or None
        self._find_missing(operator, version, missing, missing_count)
        self._find_flaws(operator, version, flaws)
        self._find_replaced(operator, replaced)
        return facts

    def _can_do_without(self, store: Store, parts: Chain, identifier: IdOf, flaws: dict[str, Flaw]) -> bool:
        """Return True if only the snapshot has flaws, and older files hold all of it."""
        if parts.base is None or any(store.path(name) in flaws for name in parts.changes):
            return False
        older = chain(store, parts.version, identifier, parts.base_version)
        # Without changes every version is a snapshot of its own.
        return bool(older.changes) and not older.missing and not self._flaws(store, older, StateFacts())

    def read_older(self) -> None:
        """Find flaws of files of state that a restart does not read."""
        names = [name for store in self._stores for name in self._older(store) if name not in self._read]
        inspector = self._examination.inspector
        flaws = {name: flaw for name in names if self._size(name) == 0 and (flaw := inspector.state_flaw(name))}
        rest = [name for name in names if name not in flaws]
        if inspector.most_bytes is not None:
            rest = rest[:MOST_OLDER]
        flaws |= {name: flaw for name in rest if (flaw := inspector.state_flaw(name))}
        flaws |= dict(note for name in rest if (note := inspector.note_flaw(name)))
        if flaws:
            self._examination.find(
                Code.OLD_DAMAGE,
                Severity.NOTE,
                f"A restart does not read this damaged state: {_listed(flaws)}.",
                list(flaws),
                advice="The query runs without these files. Going back to an epoch that needs one of them fails.",
            )

    def _older(self, store: Store) -> Iterable[str]:
        versions = sorted(store.versions, reverse=True)
        for version in versions:
            for files in (store.bases, store.changes):
                yield from (store.path(name) for name in files.get(version, {}).values())
        yield from (store.path(f"{TABLES}/{name}") for name in store.tables)

    def _size(self, name: str) -> int:
        facts = self._examination.tree.facts(name)
        return facts.size if facts is not None else -1

    def _flaws(self, store: Store, parts: Chain, facts: StateFacts) -> dict[str, Flaw]:
        """Return file -> its flaw, of the files that a restart reads of a store."""
        inspector, flaws = self._examination.inspector, {}
        names = [store.path(name) for name in ((parts.base,) if parts.base else ()) + parts.changes]
        sizes = {name: self._size(name) for name in names}
        for name in names:
            self._read.add(name)
            if flaw := inspector.state_flaw(name):
                flaws[name] = flaw
            if note := inspector.note_flaw(name):
                flaws[note[0]] = note[1]
        if parts.base is not None and parts.base.endswith(".zip") and store.path(parts.base) not in flaws:
            name = store.path(parts.base)
            try:
                tables, keys, version = inspector.tables_of(name)
            except UnreadableError as error:
                tables, keys, version = {}, None, None
                flaws[name] = error.flaw
            self.rocksdb = version or self.rocksdb
            facts.keys[store.folder] = keys
            for table, size in tables.items():
                file = store.path(f"{TABLES if table.endswith('.sst') else ARCHIVED_LOGS}/{table}")
                self._read.add(file)
                sizes[file] = self._size(file)
                flaw = Flaw.MISSING if sizes[file] < 0 else Flaw.EMPTY if sizes[file] == 0 < size else None
                if flaw is None and size >= 0 and sizes[file] != size:
                    flaw = Flaw.CUT if sizes[file] < size else Flaw.CHECKSUM
                if flaw is None and table.endswith(".sst"):
                    flaw = inspector.state_flaw(file)
                if flaw is not None:
                    flaws[file] = flaw
        facts.restart_bytes[store.folder] = sum(max(size, 0) for size in sizes.values())
        return flaws

    def _find_partitions(self, operator: int, names: list[str], stores: list[Store], partitions: int) -> None:
        here = {(store.partition, store.name) for store in stores if store.versions}
        absent, total = [], 0
        for name in names or [DEFAULT]:
            count, numbers = missing_between((partition for partition, store in here if store == name), 0, partitions - 1)
            absent += [(number, name) for number in numbers]
            total += count
        absent.sort(key=lambda pair: pair[0])
        if absent:
            folders = [f"state/{operator}/{partition}" + ("" if name == DEFAULT else f"/{name}") for partition, name in absent]
            self._examination.find(
                Code.PARTITION_MISSING,
                Severity.DAMAGE,
                f"Operator {operator} has no state files in {_some(folders, total)}: {total:,} of its "
                f"{counted(partitions * len(names or [DEFAULT]), 'store')} {'has' if total == 1 else 'have'} none.",
                folders,
                operator=operator,
                advice=_ADVICE,
                total=total,
            )
        beyond = sorted({store.partition for store in stores if store.partition >= partitions and store.versions})
        if beyond:
            self._examination.find(
                Code.PARTITIONS_DIFFER,
                Severity.WARNING,
                f"Operator {operator} has state in partitions {', '.join(map(str, beyond))}, which nothing reads: the checkpoint "
                f"was written with {counted(partitions, 'partition')}.",
                [f"state/{operator}/{number}" for number in beyond],
                operator=operator,
            )

    def _find_missing(self, operator: int, version: int, names: list[str], total: int) -> None:
        if names:
            self._examination.find(
                Code.STATE_MISSING,
                Severity.DAMAGE,
                f"Spark cannot build the state of operator {operator}. A restart reads version {version}, but "
                f"{_some(names, total)} {'is' if total == 1 else 'are'} missing.",
                names,
                operator=operator,
                advice=_ADVICE,
                total=total,
            )

    def _find_replaced(self, operator: int, flaws: dict[str, Flaw]) -> None:
        if flaws:
            self._examination.find(
                Code.SNAPSHOT_UNREADABLE,
                Severity.DAMAGE,
                f"The newest snapshot of operator {operator} cannot be read: {_listed(flaws)}. The changes before it are "
                "complete: Spark 4.3 builds the state from them, but earlier releases may fail.",
                list(flaws),
                operator=operator,
                advice="Restore the file from a copy, or start the query with Spark 4.3, whose next snapshot is complete.",
            )

    def _find_flaws(self, operator: int, version: int, flaws: dict[str, Flaw]) -> None:
        if flaws:
            self._examination.find(
                Code.STATE_UNREADABLE,
                Severity.DAMAGE,
                f"Spark cannot read the state of operator {operator} at version {version}, which a restart needs: "
                f"{_listed(flaws)}.",
                list(flaws),
                operator=operator,
                advice=_ADVICE,
            )


def _listed(flaws: dict[str, Flaw]) -> str:
    sample = [f"file {name} {flaw}" for name, flaw in list(flaws.items())[:_SHOWN]]
    more = len(flaws) - len(sample)
    return ", ".join(sample) + (f", and {counted(more, 'more file')}" if more > 0 else "")


def _some(names: list[str], total: int) -> str:
    more = total - min(len(names), _SHOWN)
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
