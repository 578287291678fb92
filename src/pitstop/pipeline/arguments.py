"""The arguments of a job's function, converted from text as its annotations say."""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union

from pitstop.errors import UsageError

NO_VALUE = "none"
"""The text that stands for None, where an argument may be None and is no text."""
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True)
class _Kind:
    """A type that texts can be converted to."""

    what: str
    """A value of the type, in the words of a message."""
    read: Callable[[str], Any]


def _bool(text: str) -> bool:
    return _WORDS[text.strip().lower()]


def _path(text: str) -> Path | str:
    # A path would lose a slash of the address: its function gets it as it was written.
    return text if "://" in text else Path(text)


_KINDS: dict[Any, _Kind] = {
    str: _Kind("a text", str),
    bool: _Kind("true or false", _bool),
    int: _Kind("a whole number", int),
    float: _Kind("a number", float),
    Decimal: _Kind("a decimal number", Decimal),
    Path: _Kind("a path", _path),
    datetime: _Kind("a time such as 2026-01-31T12:00:00 or 2026-01-31T12:00:00Z", datetime.fromisoformat),
    date: _Kind("a day such as 2026-01-31", date.fromisoformat),
}


_OPTION = re.compile(r"--?[A-Za-z]")


def bound(name: str, function: Callable[..., Any], args: Sequence[Any]) -> inspect.BoundArguments:
    """Return the arguments of the job ``name``, converted.

    A text becomes what the parameter's annotation says; other values must have that type. An annotation that is no type a text
    can be converted to changes nothing. UsageError names the argument, its type and what was given, or says that the number of
    arguments is wrong.
    """
    signature = inspect.signature(function)
    try:
        arguments = signature.bind(*args)
    except TypeError as error:
        parameters = ", ".join(str(_as_written(parameter)) for parameter in signature.parameters.values())
        likely = next((arg for arg in args if isinstance(arg, str) and _OPTION.match(arg)), None)
        advice = "" if likely is None else f" Is '{likely}' an option of the command? Those stand before the artifact."
        number = f"got {len(args)}: {[str(arg) for arg in args]} ({error})"
        raise UsageError(f"Wrong arguments for '{name}': it takes ({parameters}), {number}.{advice}") from None
    for parameter in signature.parameters.values():
        if parameter.name not in arguments.arguments:
            continue
        kind, value = _resolved(function, parameter.annotation), arguments.arguments[parameter.name]
        convert = _Conversion(name, parameter.name, kind)
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        arguments.arguments[parameter.name] = tuple(map(convert, value)) if several else convert(value)
    return arguments


def _as_written(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter, of which a message shows the name, and the default."""
    return parameter.replace(annotation=inspect.Parameter.empty)


def _resolved(function: Callable[..., Any], annotation: Any) -> Any:
    """Return an annotation that is a text as what it names in the function's module; the text if it names nothing there."""
    if not isinstance(annotation, str):
        return annotation
    module = sys.modules.get(function.__module__)
    names = getattr(function, "__globals__", None) or vars(module or types)
    try:
        return eval(annotation, dict(names))
    except Exception:  # such as a name that is imported for type checkers alone
        return annotation


@dataclass(frozen=True)
class _Conversion:
    """The conversion of one argument."""

    job: str
    parameter: str
    kind: Any

    def __call__(self, value: Any) -> Any:
        """Return the value as the type says. UsageError if it is none."""
        options = _options(self.kind)
        if not all(map(_is_convertible, options)) or (value is None and type(None) in options):
            return value
        kinds = [option for option in options if option is not type(None)]
        if len(kinds) < len(options) and str not in kinds and isinstance(value, str) and value.strip().lower() == NO_VALUE:
            return None
        for kind in kinds:
            fits, result = _converted(kind, value)
            if fits:
                return result
        choices = [word for kind in kinds for word in _words(kind)]
        choices += [NO_VALUE] if len(kinds) < len(options) else []
        names = " | ".join(_name(kind) for kind in options)
        takes = f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]
        raise UsageError(f"Argument '{self.parameter}' of job '{self.job}' takes {takes} ({names}), not {value!r}.")


def _options(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is_convertible(kind: Any) -> bool:
    if kind in _KINDS or kind is type(None) or typing.get_origin(kind) is Literal:
        return True
    return isinstance(kind, type) and issubclass(kind, Enum)


def _converted(kind: Any, value: Any) -> tuple[bool, Any]:
    """Return (True, the value as that type), or (False, None)."""
    if typing.get_origin(kind) is Literal:
        return _chosen({str(choice): choice for choice in typing.get_args(kind)}, value)
    if issubclass(kind, Enum):
        return _chosen({member.name: member for member in kind} | {str(member.value): member for member in kind}, value)
    if isinstance(value, str):
        try:
            return True, _KINDS[kind].read(value)
        except (ValueError, KeyError, InvalidOperation):
            return False, None
    if isinstance(value, kind) and not (kind is date and isinstance(value, datetime)):
        return True, value
    return (True, float(value)) if kind is float and isinstance(value, int) else (False, None)


def _chosen(choices: dict[str, Any], value: Any) -> tuple[bool, Any]:
    if isinstance(value, str) and value in choices:
        return True, choices[value]
    return (True, value) if value in choices.values() else (False, None)


def _words(kind: Any) -> list[str]:
    if typing.get_origin(kind) is Literal:
        return [str(choice) for choice in typing.get_args(kind)]
    return [member.name for member in kind] if issubclass(kind, Enum) else [_KINDS[kind].what]


def _name(kind: Any) -> str:
    if kind is type(None):
        return "None"
    return str(kind).removeprefix("typing.") if typing.get_origin(kind) is Literal else kind.__name__
