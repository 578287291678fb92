"""A job option: its form, its check and its meaning. The options themselves are in ``model.config``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit import durations

_NUMBER = re.compile(r"\d+(\.\d+)?")
Reader = Callable[[str, Any], Any]
"""``(name, value as written)`` -> the value to keep; raises UsageError with a sentence that names the option."""


@dataclass(frozen=True)
class Option:
    """One job option. Parsing, storing, REST and CLI help, completion and docs/options.md are made from these records."""

    name: str
    """As users write it."""
    field: str
    """The field of JobConfig that holds it."""
    read: Reader
    form: str
    """The form in which users write it, in words."""
    meaning: str
    """Its effect, in words."""
    default: Any = None
    """The value that holds if a user gives none, as a user would write it; None if there is no word for that."""
    choices: tuple[str, ...] = ()
    """All values there are, if they can be listed: completion offers them."""
    aliases: Mapping[str, Reader] = dataclasses.field(default_factory=dict)
    """Other names under which it is read, with their readers; they are not shown to users."""
    on_update: bool = True
    """True if an update, of a running or suspended job, may change it."""
    fixed: str | None = None
    """The reason for which ``configure`` may not change it for a suspended job, and a remedy; None if it may."""

    @property
    def readers(self) -> dict[str, Reader]:
        """Every name under which it may be written."""
        return {self.name: self.read, **self.aliases}

    @property
    def sentence(self) -> str:
        """Its form, meaning and default, for help and API descriptions."""
        default = "" if self.default is None else f" Default: {as_written(self.default)}."
        return f"{self.meaning} Write {self.form}.{default}"


def as_written(value: Any) -> str:
    """A value as it is written on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def one_of(kind: type[StrEnum]) -> Reader:
    """A word of an enum, whatever its case, with or without ``_`` and ``-``."""

    def read(name: str, value: Any) -> StrEnum:
        words = {_bare(word): word for word in kind}
        if _bare(str(value)) not in words:
            *first, last = kind
            raise UsageError(f"Unsupported value for {name}: {value}. Use {', '.join(first)} or {last}.")
        return words[_bare(str(value))]

    return read


def whole(least: int, most: int) -> Reader:
    """A whole number in these bounds, as a number or text."""

    def read(name: str, value: Any) -> int:
        try:
            number = int(str(value))
        except ValueError:
            raise UsageError(f"Invalid number for {name}: {value}") from None
        if number < least:
            raise UsageError(f"{name} can't be {'negative' if number < 0 else f'less than {least}'}: {value}")
        if number > most:
            raise UsageError(f"{name} can't be more than {most:,}: {value}")
        return number

    return read


def yes_or_no(name: str, value: Any) -> bool:
    """``true`` or ``false``, as a boolean or text."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise UsageError(f"Invalid value for {name}: {value}. Use true or false.")
    return text == "true"


def duration_ms(name: str, value: Any) -> int:
    """A duration in milliseconds, from text such as ``10 seconds`` or a number of seconds, which may be a text, too."""
    is_number = isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None
    return durations.milliseconds(float(value) if is_number else value, name)


def more_than_nothing(read: Reader) -> Reader:
    """A limit that lets something be done within it: 0 is refused."""

    def checked(name: str, value: Any) -> Any:
        number = read(name, value)
        if number == 0:
            raise UsageError(f"{name} can't be 0, or less than a millisecond: the job would fail at once.")
        return number

    return checked


def or_unlimited(read: Reader) -> Reader:
    """As :func:`or_none`, with another word for it: ``unlimited``."""

    def checked(name: str, value: Any) -> Any:
        return None if str(value).strip().lower() == durations.UNLIMITED else or_none(read)(name, value)

    return checked


def or_none(read: Reader) -> Reader:
    """Return a reader that reads None from ``none`` and -1, which turn the option off, and all else by ``read``."""

    def checked(name: str, value: Any) -> Any:
        return None if str(value).strip().lower() in ("none", "-1") else read(name, value)

    return checked


def text(name: str, value: Any) -> str:
    """Any text."""
    return str(value)


def _bare(word: str) -> str:
    return word.strip().lower().replace("-", "").replace("_", "")
