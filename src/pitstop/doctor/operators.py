"""Reads the stateful operators of a checkpoint: what they are, and whether the files are there that a restart reads."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.doctor.epochs import EpochLogs
from pitstop.doctor.examination import Examination
from pitstop.doctor.facts import Operator, OperatorKind, Partition, kind_of
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.jobs import JobFacts
from pitstop.doctor.logs import FutureError, UnreadableError
from pitstop.doctor.numbers import is_number
from pitstop.doctor.reading_schemas import read_families
from pitstop.doctor.reading_state import StateReader
from pitstop.doctor.schemas import ColumnFamily, OperatorMetadata, operator_metadata
from pitstop.doctor.stores import Store, stores_of

_PARTITIONS = "spark.sql.shuffle.partitions"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def read_operators(examination: Examination, logs: EpochLogs, job: JobFacts) -> tuple[tuple[Operator, ...], str | None]:
    """Return the operators in the order of their numbers, and the version of RocksDB that wrote their state, if it is known."""
    state = StateReader(examination, logs)
    operators = []
    for number in examination.tree.numbered_folders("state"):
        stage = job.operators[number] if number < len(job.operators) else None
        operators.append(_operator(examination, logs, state, number, stage))
    state.read_older()
    return tuple(operators), state.rocksdb


def _operator(examination: Examination, logs: EpochLogs, state: StateReader, number: int, stage: str | None) -> Operator:
    metadata = _metadata(examination, logs, number)
    stores = list(stores_of(examination.tree, number))
    names = list(dict.fromkeys(store.name for store in stores))
    if metadata is not None:
        order = [store.name for store in metadata.value.stores]
        names = [*order, *(name for name in names if name not in order)]
    families, schema_format = read_families(examination, number, metadata.value if metadata else None, names)
    kind = kind_of(metadata.value.name) if metadata is not None else _guessed(names, families)
    alone = _is_in_one_partition(kind, families)
    partitions = 1 if alone else _partitions_expected(logs, metadata.value if metadata else None, stores)
    facts = state.read(number, names, stores, partitions)
    return Operator(
        number=number,
        kind=kind,
        spark_name=metadata.value.name if metadata is not None else None,
        stage=stage,
        metadata_format=metadata.value.format if metadata is not None else None,
        schema_format=schema_format,
        families=families,
        stores=tuple(names),
        provider=_provider(logs, stores),
        partitions=tuple(
            Partition(
                partition,
                sum(facts.restart_bytes[store.folder] for store in stores if store.partition == partition),
                sum(store.bytes for store in stores if store.partition == partition),
                facts.keys_of([store for store in stores if store.partition == partition]),
            )
            for partition in sorted({store.partition for store in stores})
        ),
        expected_partitions=partitions,
        version=facts.version,
        snapshot_version=facts.snapshot_version,
        replayed=facts.replayed,
        properties=metadata.value.properties if metadata is not None else {},
    )


@dataclass(frozen=True)
class _Metadata:
    name: str
    value: OperatorMetadata


def _metadata(examination: Examination, logs: EpochLogs, number: int) -> _Metadata | None:
    """Return the metadata of an operator as of the epoch that a restart runs; None: it has none, or it cannot be read."""
    tree, folder = examination.tree, f"state/{number}/_metadata"
    versions = tree.numbers(f"{folder}/v2")
    if versions:
        within = [version for version in versions if version <= logs.restart_epoch] or versions[:1]
        name = f"{folder}/v2/{within[-1]}"
        for version in versions:
            if version != within[-1]:
                _look(examination, f"{folder}/v2/{version}")
    elif tree.facts(f"{folder}/metadata") is not None:
        name = f"{folder}/metadata"
    else:
        _missing_metadata(examination, logs, number)
        return None
    try:
        return _Metadata(name, examination.inspector.parsed(name, operator_metadata))
    except FutureError as error:
        examination.find(
            Code.LATER_FORMAT, Severity.DAMAGE, f"File {name} cannot be read: {error.detail}.", [name], operator=number
        )
    except UnreadableError as error:
        examination.find(
            Code.OPERATOR_UNREADABLE,
            Severity.DAMAGE if versions else Severity.WARNING,
            f"File {name} {error}. It describes operator {number}. "
            + (
                "It also names the schema of the operator's state, which Spark needs."
                if versions
                else "Spark starts without it, but no longer notices that an operator was added or removed."
            ),
            [name],
            operator=number,
            advice="Restore the file from a copy of the checkpoint.",
        )
    return None


def _look(examination: Examination, name: str) -> None:
    try:
        examination.inspector.parsed(name, operator_metadata)
    except UnreadableError as error:
        examination.find(
            Code.OLD_DAMAGE,
            Severity.NOTE,
            f"File {name} {error}. A restart does not read it, because a later one exists.",
            [name],
        )


def _missing_metadata(examination: Examination, logs: EpochLogs, number: int) -> None:
    """Find that the metadata of an operator are gone, if others or the settings show that they were written."""
    tree = examination.tree
    of_others = any(
        tree.names(f"state/{other}/_metadata") or tree.names(f"state/{other}/_metadata/v2")
        for other in tree.numbered_folders("state")
    )
    if of_others or _SINCE_4 in logs.settings:
        folder = f"state/{number}/_metadata"
        examination.find(
            Code.OPERATOR_MISSING,
            Severity.WARNING,
            f"Operator {number} has no metadata file in {folder}. Spark starts without it, but no longer notices that an "
            "operator was added or removed.",
            [f"{folder}/metadata"],
            operator=number,
            advice="Restore the file from a copy of the checkpoint.",
        )


_SINCE_4 = "spark.sql.streaming.stateStore.encodingFormat"


def _guessed(stores: list[str], families: tuple[ColumnFamily, ...]) -> OperatorKind:
    """Return the kind of an operator without metadata, as Spark 3.5 writes it."""
    if any("keyToNumValues" in name for name in stores):
        return OperatorKind.JOIN
    if not families:
        return OperatorKind.UNKNOWN
    keys = [column.name for column in families[0].keys]
    values = [column.name for column in families[0].values]
    if "groupState" in values:
        return OperatorKind.GROUP_STATE
    if "sessionStartTime" in keys:
        return OperatorKind.SESSION
    if values == ["expiresAtMicros"]:
        return OperatorKind.DEDUPLICATE_WITHIN
    if values == ["__dummy__"] or not values:
        return OperatorKind.DEDUPLICATE
    return OperatorKind.AGGREGATE


def _is_in_one_partition(kind: OperatorKind, families: tuple[ColumnFamily, ...]) -> bool:
    """Return True if Spark brings all rows into one partition, however many there are: for a limit, or without keys."""
    return kind is OperatorKind.LIMIT or (kind is OperatorKind.AGGREGATE and bool(families) and not families[0].keys)


def _partitions_expected(logs: EpochLogs, metadata: OperatorMetadata | None, stores: list[Store]) -> int:
    if metadata is not None and metadata.stores:
        return metadata.stores[0].partitions
    setting = logs.settings.get(_PARTITIONS, "")
    return int(setting) if is_number(setting) else len({store.partition for store in stores})


def _provider(logs: EpochLogs, stores: list[Store]) -> str | None:
    providers = {str(store.provider) for store in stores if store.provider is not None}
    if providers:
        return " and ".join(sorted(providers))
    name = logs.settings.get(_PROVIDER, "")
    return name.rpartition(".")[2] or None
