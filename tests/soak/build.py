"""A version of a chain as a pipeline. Every row that leaves it bears the number of its version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pitstop as ps
from tests.soak.chain import BUCKET, BURST, KEYS, LAG, PAUSE, TABLE_KEYS, Chain, Kind, Link, Stage
from tests.soak.lines import OTHER, OTHER_AT
from tests.spark import chains
from tests.spark.sequence import SCHEMA, Sequence

AGGREGATES: dict[str, Callable[[], Any]] = {
    "n": ps.count,
    "total": lambda: ps.sum("v"),
    "high": lambda: ps.max("seq"),
    "low": lambda: ps.min("seq"),
    "mean": lambda: ps.avg("v"),
    "b_n": ps.count,
    "b_high": lambda: ps.max("seq"),
    "n_as_max": lambda: ps.max("v"),  # column n, of another accumulator
}
MAIN = "numbers"
CONDUCTED = 500
"""The sink that conducts the run gets each so manieth event."""


class Builder:
    """Puts the stages of one version together."""

    def __init__(self, chain: Chain, number: int, stages: tuple[Stage, ...], folder: Path, writer: Callable[[Path], Any]) -> None:
        self._chain, self._number, self._stages, self._folder, self._writer = chain, number, stages, folder, writer
        self._pipeline, self._sources = ps.Pipeline(), {}
        self._table: Any = None

    def pipeline(self, conductor: Any) -> ps.Pipeline:
        """The version's pipeline; ``conductor`` is a sink beside those of its stages."""
        for stage in self._stages:
            rows = getattr(self, f"_{stage.kind.value}")(stage, self._input(stage))
            self._write(stage, rows)
        self._source(MAIN).filter(f"seq % {CONDUCTED} = 0").write_to(ps.sinks.custom(conductor), name="conductor")
        return self._pipeline

    def _source(self, name: str) -> Any:
        if name not in self._sources:
            first = 0 if name == MAIN else self._chain.first(self._number)
            step, rows = self._chain.versions[self._number].step, self._chain.total
            options = {"rows": rows, "step": step, "first": first, "keys": KEYS, "burst": BURST, "pause": PAUSE}
            source = self._pipeline.read_from(ps.sources.custom(Sequence, schema=SCHEMA, **options), name=name)
            self._sources[name] = source.with_timestamps("ts", allowed_lag=f"{LAG} ms")
        return self._sources[name]

    def _input(self, stage: Stage) -> Any:
        rows = self._source(MAIN)
        if stage.below < 10:
            rows = rows.filter(f"v < {stage.below}")
        if stage.enriched:
            if self._table is None:
                items = [(key, f"name {key}") for key in range(TABLE_KEYS)]
                self._table = self._pipeline.read_from(ps.sources.items(items, "key bigint, label string"), name="labels")
            rows = rows.hash_join(self._table, on="key", how="inner")
        if stage.doubled:
            rows = rows.merge(rows).group_by("key", "seq").distinct(f"{stage.name}-seen", within="6 seconds")
        return rows

    def _write(self, stage: Stage, rows: Any) -> None:
        rows = rows.with_columns(version=f"{self._number}")
        target = self._folder / "out" / stage.out
        if stage.sink == "files":
            rows.write_to(ps.sinks.files(str(target)), name=stage.out)
        elif stage.sink == "map":
            names = ", ".join(columns_of(stage))
            rows = rows.with_columns(id=f"to_json(struct({names}, version), map('ignoreNullFields', 'false'))")
            rows.select("id").write_to(ps.sinks.map(stage.out, key="id", value="1", merge=added), name=stage.out)
        else:
            rows.write_to(ps.sinks.custom(self._writer(target)), name=stage.out)

    def _aggregated(self, stage: Stage, windowed: Any) -> Any:
        if stage.other is None:
            rows = windowed.aggregate(stage.name, **aggregates_of(stage.aggregates))
        else:
            theirs = tuple(name for name in stage.aggregates if name.startswith("b_"))
            mine = tuple(name for name in stage.aggregates if name not in theirs)
            parts = {"a": aggregates_of(mine), "b": aggregates_of(theirs)}
            rows = windowed.aggregate(stage.name, **parts)
        if stage.early:
            rows = rows.filter("not is_early")
        span = ("unix_millis(window_start) as start", "unix_millis(window_end) as end")
        return rows.select(stage.key, *span, *map(column_of, stage.aggregates))

    def _window(self, stage: Stage, rows: Any) -> Any:
        size, slide = (f"{ms} ms" for ms in (stage.size, stage.slide))
        window = ps.tumbling(size) if stage.size == stage.slide else ps.sliding(size, slide)
        grouped = rows.group_by(stage.key)
        if stage.other is not None:
            grouped = ps.co_group(a=grouped, b=self._source(stage.other).filter("v < 3").group_by(stage.key))
        windowed = grouped.window(window)
        return self._aggregated(stage, windowed.early_results("1 ms") if stage.early else windowed)

    def _session(self, stage: Stage, rows: Any) -> Any:
        return self._aggregated(stage, rows.group_by(stage.key).window(ps.session(f"{stage.timeout} ms")))

    def _rolling(self, stage: Stage, rows: Any) -> Any:
        rolled = rows.group_by(stage.key).rolling_aggregate(stage.name, **aggregates_of(stage.aggregates))
        return rolled.filter(f"seq % {stage.every} = 0").select("seq", "key", *map(column_of, stage.aggregates))

    def _mapped(self, stage: Stage, rows: Any) -> Any:
        extra = ", seen bigint" if stage.seen else ""
        every, seen = stage.every, stage.seen

        def step(state: Any, row: Any) -> Any:
            state.n = (state.n or 0) + 1
            before = None
            if seen:
                before, state.seen = state.seen, row.seq
            return None if row.seq % every else (row.seq, state.n, before)

        def evict(state: Any, key: Any, time: int) -> Any:
            return (-time, state.n, state.seen if seen else None)

        ttl = None if stage.timeout is None else f"{stage.timeout} ms"
        mapped = rows.group_by(stage.key).map_stateful(
            stage.name,
            step,
            state=f"n bigint{extra}",
            output="seq bigint, n bigint, before bigint"
            if stage.key == "key"
            else "seq bigint, n bigint, before bigint, key bigint",
            ttl=ttl,
            on_evict=evict if ttl else None,
        )
        return mapped.select(*columns_of(stage))

    def _distinct(self, stage: Stage, rows: Any) -> Any:
        within = None if stage.timeout is None else f"{stage.timeout} ms"
        bucketed = rows.with_columns(bucket=f"seq div {BUCKET}")
        return bucketed.group_by("key", "bucket").distinct(stage.name, within=within).select("key", "bucket")

    def _join(self, stage: Stage, rows: Any) -> Any:
        left = rows.filter("seq % 150 = 30").select("key", "ts", "seq")
        right = self._source(stage.other or MAIN).filter("seq % 100 = 10").select("key", "ts as at", "seq as visit")
        joined = left.join(stage.name, right, on="key", within=f"{stage.timeout} ms", how=stage.how)
        return joined.select("key", "seq", "visit")

    def _own(self, stage: Stage, rows: Any) -> Any:
        def counted(frame: Any) -> Any:
            from pyspark.sql import functions as F

            once = frame.dropDuplicates(["key", "ts"])
            return once.groupBy("key", F.window("ts", "10 seconds").alias("w")).agg(F.count("*").alias("n"))

        span = ("unix_millis(w.start) as start", "unix_millis(w.end) as end")
        return rows.stateful(stage.name, counted).select("key", *span, "n")

    def _line(self, stage: Stage, rows: Any) -> Any:
        rows = rows.filter(f"seq % {stage.every} = 0").select("key", "v", "ts")
        for link in stage.links:
            kind = kind_of(link)
            rows = kind.add(Named(link.name, self._source(MAIN)), rows)
            if kind.sets_time and link is not stage.links[-1]:
                rows = rows.with_timestamps(kind.time, name=f"{link.name}-time")
        return rows.select("key", "v", "unix_millis(ts) as ms")

    def _branch(self, stage: Stage, rows: Any) -> Any:
        return rows.filter(f"seq % {stage.every} = 0").select("key", "seq")


@dataclass
class Named:
    """Gives a stage of tests/spark/chains.py the name of a link, and the other side of a join."""

    name: str
    source: Any

    def named(self, kind: str) -> str:
        return self.name

    def others(self) -> Any:
        return self.source.filter(f"seq % {OTHER} = {OTHER_AT}")


def kind_of(link: Link) -> chains.Kind:
    """A link as a stage of tests/spark/chains.py."""
    words = {Kind.ROLLING: "rolling aggregate", Kind.MAPPED: "state of one's own", Kind.DISTINCT: "distinct"}
    timeout = link.timeout
    if link.kind is Kind.WINDOW:
        size, slide = (f"{ms} ms" for ms in (link.size, link.slide))
        window = ps.tumbling(size) if size == slide else ps.sliding(size, slide)
        return replace(chains.KINDS["window"], add=chains.windows(window))
    if link.kind is Kind.SESSION:
        return replace(chains.KINDS["session"], add=chains.windows(ps.session(f"{timeout} ms")))
    if link.kind is Kind.JOIN:
        return replace(chains.KINDS["join"], add=chains.join(timeout))
    if timeout is None:
        return chains.KINDS[words[link.kind]]
    if link.kind is Kind.MAPPED:
        return replace(chains.KINDS["state with time to live"], add=chains.dying(timeout))
    return replace(chains.KINDS["distinct within"], add=chains.distinct(within=timeout / 1000))


def column_of(aggregate: str) -> str:
    return aggregate.removesuffix("_as_max")


def aggregates_of(names: tuple[str, ...]) -> dict[str, Any]:
    """Result column -> aggregate."""
    return {column_of(name): AGGREGATES[name]() for name in names}


def columns_of(stage: Stage) -> tuple[str, ...]:
    """Columns of a stage's rows."""
    return tuple(_columns(stage))


def _columns(stage: Stage) -> Iterator[str]:
    if stage.kind is Kind.LINE:
        yield from ("key", "v", "ms")
        return
    yield stage.key if stage.kind in (Kind.WINDOW, Kind.SESSION) else "key"
    if stage.kind in (Kind.WINDOW, Kind.SESSION, Kind.OWN):
        yield from ("start", "end")
    elif stage.kind is Kind.DISTINCT:
        yield "bucket"
    else:
        yield "seq"
    if stage.kind is Kind.JOIN:
        yield "visit"
    if stage.kind in (Kind.OWN, Kind.MAPPED):
        yield "n"
    if stage.seen:
        yield "before"
    yield from map(column_of, stage.aggregates)


def added(old: Any, new: Any) -> Any:
    """How often a row was written."""
    return (old or 0) + new
