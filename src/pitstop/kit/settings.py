"""Settings of a process that are options of its command, too: each is named once, as a field of a dataclass."""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field
from typing import Any

_KEY = "setting"


@dataclass(frozen=True)
class Setting:
    """The option that sets a field."""

    help: str
    option: str | None = None
    """The option's name, with ``_`` for ``-``; None: the field's."""
    kind: Any = None
    """The type of the option's value; None: the field's."""
    unset: Any = None
    """The option's value if it is not given, where ``kind`` is another type."""
    metavar: str | None = None
    minimum: float | None = None
    maximum: float | None = None


def setting(default: Any, help: str, factory: Any = MISSING, **more: Any) -> Any:
    """Return a field of a dataclass that an option sets. ``more``: fields of :class:`Setting`.

    A field without a default has MISSING as its default, and perhaps a factory.
    """
    return field(default=default, default_factory=factory, metadata={_KEY: Setting(help, **more)})


def setting_of(each: Field[Any]) -> Setting | None:
    """Return the option that sets a field; None if none does."""
    option: Setting | None = each.metadata.get(_KEY)
    return option
