"""The size of an operator's largest partition over time, by its snapshots."""

from __future__ import annotations

from pitstop.doctor.examination import Examination
from pitstop.doctor.facts import Operator
from pitstop.doctor.logs import UnreadableError
from pitstop.doctor.stores import Store, stores_of

MOST_SNAPSHOTS = 5


def sizes_over_time(examination: Examination, operator: Operator) -> list[tuple[int, int]]:
    """Return (version, bytes of the whole state) of a few snapshots of the largest partition, oldest first."""
    largest = max(operator.partitions, key=lambda partition: partition.restart_bytes, default=None)
    if largest is None or largest.restart_bytes == 0:
        return []
    stores = [store for store in stores_of(examination.tree, operator.number) if store.partition == largest.number]
    common = sorted(set.intersection(*(set(store.bases) for store in stores))) if stores else []
    if len(common) > MOST_SNAPSHOTS:
        step = (len(common) - 1) / (MOST_SNAPSHOTS - 1)
        common = [common[round(number * step)] for number in range(MOST_SNAPSHOTS)]
    sizes = []
    for version in common:
        parts = [_size(examination, store, version) for store in stores]
        if None not in parts:
            sizes.append((version, sum(part for part in parts if part is not None)))
    return sizes


def _size(examination: Examination, store: Store, version: int) -> int | None:
    name = next(iter(store.bases[version].values()))
    if not name.endswith(".zip"):
        return store.sizes[name]
    try:
        tables, _, _ = examination.inspector.tables_of(store.path(name))
    except UnreadableError:
        return None
    return sum(max(size, 0) for size in tables.values())
