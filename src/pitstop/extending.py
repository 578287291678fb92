"""The engine's side of kinds of sources and sinks that a package of its own ships. See docs/extending.md.

The side of its users, a ``ps.Source`` or a subclass of ``ps.Sink``, needs only ``import pitstop as ps``.
"""

from pitstop.machine.named_secrets import revealed, revealed_url
from pitstop.model.report import SourceFate
from pitstop.spark.base.seeking import NoSuchPlaceError, Sought
from pitstop.spark.sinks import FIRST, LAST, STORE, EpochContext, SinkKind, compute_only
from pitstop.spark.sources import SourceKind, python_source
from pitstop.spark.sources.shared import Behind, SourceOptions

__all__ = [
    "FIRST",
    "LAST",
    "STORE",
    "Behind",
    "EpochContext",
    "NoSuchPlaceError",
    "SinkKind",
    "Sought",
    "SourceFate",
    "SourceKind",
    "SourceOptions",
    "compute_only",
    "python_source",
    "revealed",
    "revealed_url",
]
