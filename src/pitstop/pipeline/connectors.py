"""Kinds of sources and sinks as people look them up: their options are the parameters of the functions that users call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from pitstop.errors import UsageError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.needs import NOTHING, OF_SINKS, OF_SOURCES, SINK_GROUP, SOURCE_GROUP, Needs

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`(])")
"""Matches the blanks between two sentences of a docstring."""
_ROLE = re.compile(r":(?:class|func|meth):(?=`)")
"""Matches the words of Sphinx before a name."""


class Role(StrEnum):
    """The part that a kind has in a job."""

    SOURCE = "source"
    SINK = "sink"


@dataclass(frozen=True)
class KindOption:
    """A parameter of a kind's function."""

    name: str
    type: str
    """The type as the function declares it."""
    meaning: str
    """The sentences of the function's documentation that name it."""
    required: bool
    default: Any = None
    """The value without it; None, too, if it is required."""


@dataclass(frozen=True)
class Kind:
    """A kind of source or sink."""

    name: str
    role: Role
    call: str
    """The function that users call."""
    summary: str
    description: str
    options: tuple[KindOption, ...]
    needs: Needs = NOTHING
    package: str = "pitstop"
    """The package that provides it."""


def kinds() -> list[Kind]:
    """Return all kinds: Pitstop's own, and those that installed packages declare."""
    return [
        *_own(sources, Role.SOURCE, OF_SOURCES),
        *_declared(SOURCE_GROUP, Role.SOURCE),
        *_own(sinks, Role.SINK, OF_SINKS),
        *_declared(SINK_GROUP, Role.SINK),
    ]


def kinds_called(name: str) -> list[Kind]:
    """Return the source and the sink of a name. UsageError if there is neither."""
    everything = kinds()
    matches = [kind for kind in everything if kind.name == name]
    if not matches:
        names = ", ".join(sorted({kind.name for kind in everything}))
        raise UsageError(f"There is no source or sink '{name}'. There are: {names}.")
    return matches


def _own(module: ModuleType, role: Role, needs: dict[str, Needs]) -> Iterator[Kind]:
    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function):
            text = _ROLE.sub("", (inspect.getdoc(function) or "").replace("``", "`"))
            options = tuple(_options(function, text))
            yield Kind(name, role, f"ps.{role}s.{name}", _sentences(text)[0], text, options, needs.get(name, NOTHING))


def _declared(group: str, role: Role) -> Iterator[Kind]:
    for entry in entry_points(group=group):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
        text = f"A {role} of the package {package}, whose documentation has its options."
        yield Kind(entry.name, role, entry.value, text, text, (), package=package)


def _options(function: Callable[..., Any], text: str) -> Iterator[KindOption]:
    sentences = _sentences(text)
    for parameter in inspect.signature(function).parameters.values():
        mention = re.compile(rf"`{parameter.name}[`=(]")
        meaning = " ".join(sentence for sentence in sentences if mention.search(sentence))
        is_open = parameter.kind is inspect.Parameter.VAR_KEYWORD
        required = parameter.default is inspect.Parameter.empty and not is_open
        default = None if parameter.default is inspect.Parameter.empty else parameter.default
        name = f"**{parameter.name}" if is_open else parameter.name
        yield KindOption(name, str(parameter.annotation), meaning, required, default)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a documentation, each in one line."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return [sentence for paragraph in paragraphs for sentence in _SENTENCE.split(paragraph)]
