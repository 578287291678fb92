"""Kinds of sources and sinks by their names: Pitstop's own, and those that installed packages declare.

A package declares a kind by an entry point of the group ``pitstop.sources`` or ``pitstop.sinks`` whose name is the kind and whose
object is a SourceKind or SinkKind. It is looked for where the job runs, first when the pipeline is compiled.
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import TypeVar

from pitstop.errors import PipelineError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source

K = TypeVar("K")
"""SourceKind or SinkKind."""


def find_kind(node: Node, described: Source | Sink, group: str, own: str, record_class: type[K]) -> K:
    """Return the record, of class ``record_class``, of the kind that a node's source or sink names.

    ``own`` is the package of Pitstop's own kinds. PipelineError if nobody provides the kind, several packages claim it, or the
    one that does cannot be loaded or provides something else.
    """
    try:
        record = _find(described.kind, type(described).__module__.partition(".")[0], group, own)
        if not isinstance(record, record_class):
            raise LookupError(f"which is provided as a {type(record).__name__}, and must be a {record_class.__name__}")
        return record
    except LookupError as error:
        what = f"{node.spec.op.capitalize()} '{node.name}' ({node.location}) is of kind '{described.kind}'"
        raise PipelineError(f"{what}, {error.args[0]}.") from error.__cause__


@functools.cache
def _find(kind: str, home: str, group: str, own: str) -> object:
    """Return a kind's record. LookupError with a clause if there is none.

    The next call then looks again, as an artifact may bring it.
    """
    provided = tuple(entry_points(group=group, name=kind))
    ours = _own(own, kind)
    claims = (["Pitstop itself"] if ours is not None else []) + [f"package '{_package(one)}'" for one in provided]
    if len(claims) > 1:
        raise LookupError(f"which {' and '.join(claims)} claim: uninstall one of them, or rename its kind")
    if not claims:
        hint = f" (its code is in '{home}')" if home != "pitstop" else ""
        where = f"the one that declares '{kind}' as an entry point of {group}"
        raise LookupError(f"which no installed package provides{hint}: install, where jobs run, {where}")
    return ours if ours is not None else _loaded(provided[0])


def _own(package: str, kind: str) -> object:
    """Return ``KIND`` of the package's module of that name; None if there is no such module."""
    module = f"{package}.{kind}"
    if not kind.isidentifier() or find_spec(module) is None:
        return None
    return getattr(importlib.import_module(module), "KIND", None)


def _loaded(entry: EntryPoint) -> object:
    try:
        return entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise LookupError(f"and '{entry.value}' of package '{_package(entry)}' cannot be loaded: {reason}") from error


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
