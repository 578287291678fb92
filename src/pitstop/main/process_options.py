"""Commands that start a process: their options are the fields of the process's settings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

import typer

from pitstop.cli.context import Call
from pitstop.kit.settings import Setting, setting_of
from pitstop.main.settings_file import ConfigFile

T = TypeVar("T")
Reader = Callable[[Any, Call], Any]
"""A function of an option's value, None if it is not given, and of the call. It returns the value of the field."""

_LISTS = {tuple[str, ...]: list[str] | None}
"""Types of fields -> those of options that may be repeated."""
CONFIG = inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigFile)
"""The option for a file with the other ones."""


class ProcessOptions(Generic[T]):
    """The options that set the fields of a dataclass."""

    def __init__(self, settings: type[T], readers: Mapping[str, Reader] | None = None) -> None:
        """``readers``: by name, how fields are read whose option has another type, or that a variable may set."""
        self._settings, self._readers = settings, readers or {}
        self._types = get_type_hints(settings)
        fields = dataclasses.fields(settings)  # type: ignore[arg-type]
        self._fields = [(each, option) for each in fields if (option := setting_of(each)) is not None]

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The options, as typer reads them from a function."""
        return [self._parameter(field, option) for field, option in self._fields]

    def value(self, call: Call, options: Mapping[str, Any]) -> T:
        """Return the settings of a call."""
        values = {}
        for field, option in self._fields:
            value = options[option.option or field.name]
            if field.name in self._readers:
                values[field.name] = self._readers[field.name](value, call)
            elif self._types[field.name] not in _LISTS:
                values[field.name] = value
            elif value:
                values[field.name] = tuple(value)
        return self._settings(**values)

    def _parameter(self, field: dataclasses.Field[Any], option: Setting) -> inspect.Parameter:
        name, kind, default = option.option or field.name, option.kind or self._types[field.name], field.default
        if kind in _LISTS:
            kind, default = _LISTS[kind], None
        elif option.kind is not None:
            default = option.unset
        dashed = name.replace("_", "-")
        names = (f"--{dashed}/--no-{dashed}" if default else f"--{dashed}",) if kind is bool else ()
        details = typer.Option(*names, help=option.help, metavar=option.metavar, min=option.minimum, max=option.maximum)
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, details])


def command_of(
    name: str, help: str, parts: tuple[ProcessOptions[Any], ...], run: Callable[..., None], *more: inspect.Parameter
) -> Callable[..., None]:
    """Return a command whose options are those of the parts; ``run`` gets their settings. ``more``: options for typer alone."""

    def command(call: Call, **options: Any) -> None:
        run(*(part.value(call, options) for part in parts))

    call = inspect.Parameter("call", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Call)
    parameters = [parameter for part in parts for parameter in part.parameters]
    command.__name__, command.__doc__ = name, help
    command.__signature__ = inspect.Signature([call, *parameters, *more])  # type: ignore[attr-defined]
    return command
