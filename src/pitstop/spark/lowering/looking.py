"""Looks at all places that a version reads and writes, side by side, each as a sentence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pitstop.machine.named_secrets import hidden
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec, SourceSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.model import Plan
from pitstop.spark.base.failures import reason
from pitstop.spark.base.looking import LOOK_SECONDS, Look
from pitstop.spark.base.naming import quoted
from pitstop.spark.lowering.source import can_be_bad, dead_letters, good_rows, with_parsed
from pitstop.spark.sinks import sink_kind
from pitstop.spark.sources import source_kind

_DECODING_SECONDS = 10
"""The longest, in seconds, that the decoding of samples may take beside that."""
_MOST = 300
"""The most characters of a sample."""


def findings(spark: SparkSession, pipeline: Pipeline, plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each source and sink whose kind can look: what is there, or why nobody could look.

    A server that is away, or slow, keeps none of the others from being looked at.
    """
    sentences: dict[str, str] = {}
    threads = []
    for node in pipeline.nodes:
        look = _look_at(spark, node, plan)
        if look is not None:
            begins = f"{'Source' if isinstance(node.spec, SourceSpec) else 'Sink'} '{node.name}' ({node.location})"
            sentences[node.name] = f"{begins} could not be looked at within {LOOK_SECONDS} seconds."
            threads.append(threading.Thread(target=_tell, args=(look, node.name, begins, sentences), daemon=True))
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + LOOK_SECONDS + _DECODING_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return tuple(sentences.values())


def _look_at(spark: SparkSession, node: Node, plan: Plan) -> Callable[[], str] | None:
    if isinstance(node.spec, SourceSpec):
        kind = source_kind(node)
        if kind.look is None or not kind.has_look(node.source):
            return None
        return partial(_look_at_source, kind.look, spark, node)
    if isinstance(node.spec, SinkSpec):
        look_at_sink, stage = sink_kind(node).look, plan.stage(node.name)
        if look_at_sink is not None and stage is not None:
            return partial(look_at_sink, node.sink, stage.columns)
    return None


def _tell(look: Callable[[], str], name: str, begins: str, sentences: dict[str, str]) -> None:
    try:
        clause = look()
    except Exception as error:  # readers of every kind may fail in any way: the sentence says how
        clause = f"cannot be looked at: {reason(error)}"
    sentences[name] = hidden(f"{begins} {clause.rstrip('.')}.")


def _look_at_source(look_at: Callable[..., Look], spark: SparkSession, node: Node) -> str:
    look = look_at(spark, node.source)
    return look.clause if look.sample is None else f"{look.clause}; {_decoded(look, node)}"


def _decoded(look: Look, node: Node) -> str:
    """Return a sample as the row that it is, or the reason why it is none."""
    assert look.sample is not None
    source, frame = node.source, look.sample
    if can_be_bad(source):
        parsed = with_parsed(frame, source)
        frame = good_rows(parsed, source)
        letter = dead_letters(parsed, node.name, source).first()
        if letter is not None:
            why = str(letter.error).rstrip(".")
            return f"{look.sample_place} is no row: {why}: {_short(letter.text or '')}"
    row = frame.select(F.to_json(F.struct(*map(quoted, frame.columns)))).first()
    assert row is not None
    return f"{look.sample_place} is the row {_short(row[0])}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
