"""The sink that takes every row and writes none."""

from __future__ import annotations

from pitstop.pipeline.sink import NoopSink
from pitstop.spark.sinks import SinkKind, compute_only

KIND: SinkKind[NoopSink] = SinkKind(compute_only, reads_once=True, handles_epochs=True)  # it never has anything of one
