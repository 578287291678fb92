"""Saved window state under another size or slide.

``frames`` holds the open frames. ``windows`` of a sliding window holds, for each open window, its closed frames
combined: a window that starts at s is the combination of all closed frames from s on. So the windows of another size
or slide take their closed frames from the saved window that starts where they do; frames are aligned up to the new
slide, and what was dropped before (an older start) is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.spark.base.naming import quoted

MICROS = 1000


@dataclass(frozen=True)
class Frames:
    """Size and slide in ms; equal ones are a tumbling window."""

    size_ms: int
    slide_ms: int

    @property
    def tumbling(self) -> bool:
        return self.size_ms == self.slide_ms


def heirs(old: Frames, new: Frames, watermark_ms: int) -> list[tuple[int, int, int]]:
    """Return, for each new window open at the watermark, (start of the saved window that it inherits from, start, end), in ms."""
    oldest = _next_multiple(watermark_ms - old.size_ms, old.slide_ms)
    windows = []
    end = _next_multiple(watermark_ms, new.slide_ms)
    while end - new.size_ms <= watermark_ms:
        start = end - new.size_ms
        source = max(start // old.slide_ms * old.slide_ms, oldest)
        if source <= watermark_ms:
            windows.append((source, start, end))
        end += new.slide_ms
    return windows


def reframed(
    spark: SparkSession,
    frames: DataFrame,
    windows: DataFrame | None,
    old: Frames,
    new: Frames,
    watermark_ms: int,
    spans: tuple[str, str],
) -> dict[str, DataFrame]:
    """Return role -> rows (keys, window column, accumulators) for the new window.

    ``spans`` are the names of the window columns of ``frames`` and of ``windows``, before and after.
    """
    aligned = _aligned(frames, spans[0], new.slide_ms)
    if windows is None:
        return {"frames": aligned}
    inherited = _inherited(spark, windows, spans[1], spans[0 if new.tumbling else 1], heirs(old, new, watermark_ms))
    if new.tumbling:
        return {"frames": aligned.unionByName(inherited)}
    return {"frames": aligned, "windows": inherited}


def _aligned(frames: DataFrame, span: str, slide_ms: int) -> DataFrame:
    slide = slide_ms * MICROS
    end = F.ceil(F.unix_micros(F.col(f"{quoted(span)}.end")) / F.lit(slide)).cast("bigint") * slide
    return frames.withColumn(span, window_of(end - slide, end))


def _inherited(
    spark: SparkSession, windows: DataFrame, span: str, new_span: str, heir_windows: list[tuple[int, int, int]]
) -> DataFrame:
    rows = [tuple(ms * MICROS for ms in row) for row in heir_windows]
    table = spark.createDataFrame(rows, "__source bigint, __from bigint, __to bigint")
    start = F.unix_micros(F.col(f"{quoted(span)}.start"))
    joined = windows.withColumn("__source", start).join(F.broadcast(table), "__source")
    others = [F.col(quoted(column)) for column in windows.columns if column != span]
    return joined.select(*others, window_of(F.col("__from"), F.col("__to")).alias(new_span))


def window_of(start: Column, end: Column) -> Column:
    """Return a window struct from its start and end in microseconds."""
    return F.struct(F.timestamp_micros(start).alias("start"), F.timestamp_micros(end).alias("end"))


def _next_multiple(after_ms: int, step_ms: int) -> int:
    """Return the smallest multiple of ``step_ms`` above ``after_ms``."""
    return (after_ms // step_ms + 1) * step_ms
