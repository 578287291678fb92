"""What the sinks of a story hold, and what they must hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.soak.served.job import BURST, GUARD, Line, map_of, plain_guard, sink_of
from tests.spark.chains import KINDS, all_rows, plain

Row = tuple[int, int, int]
"""(key, v, ms)"""


def differences(
    client: Any, folder: Path, name: str, lines: tuple[Line, ...], released: int, watermark: int, gone: Collection[int]
) -> tuple[list[str], int]:
    """How the sinks differ from plain Python over all released events, and how many rows they hold.

    Nothing may bear the mark of a version that is ``gone``.
    """
    found, count = [], 0
    for number, line in enumerate(lines):
        kinds = [KINDS[kind] for kind in line]
        wanted, until = Counter(plain(all_rows(released, BURST), kinds)), watermark - sum(kind.open_ms for kind in kinds)
        held, marks = _held(client, folder, name, sink_of(number), f"line{number}")
        found += how_it_differs(f"line{number} ({' -> '.join(line)})", held, wanted, until) + _withdrawn(
            f"line{number}", marks, gone
        )
        count += held.total()
    for sink in ("files", "map"):
        held, marks = _held(client, folder, name, sink, f"{GUARD}-{sink}")
        found += how_it_differs(f"{GUARD} in {sink}", held, Counter(plain_guard(released)), released)
        found += _withdrawn(f"{GUARD} in {sink}", marks, gone)
        count += held.total()
    return found, count


def how_it_differs(what: str, held: Counter[Row], wanted: Counter[Row], until: int) -> list[str]:
    due = Counter({row: count for row, count in wanted.items() if row[2] <= until})
    missing, more = due - held, held - wanted
    return [
        f"{what}: {sum(rows.values())} {how}, such as {sorted(rows)[:3]}, of {sum(due.values())}"
        for how, rows in (("missing", missing), ("too many", more))
        if rows
    ]


def _withdrawn(what: str, marks: Counter[int], gone: Collection[int]) -> list[str]:
    return [f"{what}: {marks[mark]} rows of version {mark}, which was gone back from" for mark in gone if marks[mark]]


def _held(client: Any, folder: Path, name: str, sink: str, stage: str) -> tuple[Counter[Row], Counter[int]]:
    """(rows, how many each version has written)"""
    rows: Counter[Row] = Counter()
    marks: Counter[int] = Counter()
    for row, count in _of_files(folder / "out" / stage) if sink == "files" else _of_map(client, map_of(name, stage)):
        rows[(row["key"], row["v"], row["ms"])] += count
        marks[row["version"]] += count
    return rows, marks


def _of_files(folder: Path) -> list[tuple[dict[str, int], int]]:
    return [(row, 1) for path in sorted(folder.glob("*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]


def _of_map(client: Any, name: str) -> list[tuple[dict[str, int], int]]:
    return [(json.loads(key), count) for key, count in client.map(name).entries().items()]
