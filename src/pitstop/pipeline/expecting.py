"""Says what a verb takes, if it gets something else: a text where a sink belongs, a stage that is none."""

from __future__ import annotations

from typing import Any

from pitstop.errors import PipelineError

SINKS = "ps.sinks.files(...) or another of ps.sinks"
SOURCES = "ps.sources.files(...) or another of ps.sources"
WINDOWS = "ps.tumbling(...), ps.sliding(...) or ps.session(...)"


def expect(value: Any, kind: type | tuple[type, ...], what: str, instead: str) -> None:
    """Raise PipelineError unless the value is of a class: ``what`` says what takes which thing, ``instead`` what to write."""
    if not isinstance(value, kind):
        raise PipelineError(f"{what}, not {_words(value)}: write {instead}.")


def expect_function(value: Any, what: str, instead: str) -> None:
    """Raise PipelineError unless the value can be called."""
    if not callable(value):
        raise PipelineError(f"{what}, not {_words(value)}: write {instead}.")


def _words(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text '{value}'"
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
