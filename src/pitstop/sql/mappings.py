"""The things that names in queries stand for: mappings, which lead to rows outside, and views, which are queries."""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field

from pitstop.kit.secret_words import HIDDEN, is_secret, without_secrets
from pitstop.machine.named_secrets import is_reference

KEY, VALUE = "__key", "this"
"""The columns of maps and topics: the key, and a value that is no object."""


@dataclass(frozen=True)
class Column:
    """A column of a mapping."""

    name: str
    type: str
    """Spark's name of its type."""
    external: str | None = None
    """Its name outside; None: ``name``."""

    @property
    def outside(self) -> str:
        """The name of the column outside."""
        return self.external if self.external is not None else self.name


@dataclass(frozen=True)
class Mapping:
    """A name for rows outside, of a source, of a sink, or of both."""

    name: str
    type: str
    """The name of its connector."""
    columns: tuple[Column, ...] = ()
    options: AnyMapping[str, str] = field(default_factory=dict)
    external: str | None = None
    """The name of the rows outside; None: ``name``."""

    @property
    def outside(self) -> str:
        """The name of the rows outside."""
        return self.external if self.external is not None else self.name

    def has(self, column: str) -> bool:
        """Return True if it has a column of that name."""
        return any(each.name == column for each in self.columns)

    def option(self, name: str, usual: str) -> str:
        """Return the value of an option."""
        return self.options.get(name, usual)

    def names(self, option: str) -> list[str]:
        """Return the names that an option holds, with commas between them."""
        return [name.strip() for name in self.option(option, "").split(",") if name.strip()]

    def statement(self) -> str:
        """Return the CREATE MAPPING that makes it."""
        return self._statement(self.options)

    def shown_statement(self) -> str:
        """Return that statement as others may see it: without passwords, tokens and the like."""
        return self._statement(
            {key: HIDDEN if _hides(key, value) else without_secrets(value) for key, value in self.options.items()}
        )

    def _statement(self, options: AnyMapping[str, str]) -> str:
        external = f" EXTERNAL NAME {identifier(self.external)}" if self.external is not None else ""
        columns = ", ".join(_column(column) for column in self.columns)
        pairs = ", ".join(f"{text(key)} = {text(value)}" for key, value in options.items())
        return (
            f"CREATE MAPPING {identifier(self.name)}{external}"
            + (f" ({columns})" if columns else "")
            + f" TYPE {identifier(self.type)}"
            + (f" OPTIONS ({pairs})" if pairs else "")
        )


@dataclass(frozen=True)
class View:
    """A named query."""

    name: str
    query: str

    def statement(self) -> str:
        """Return the CREATE VIEW that makes it."""
        return f"CREATE VIEW {identifier(self.name)} AS {self.query}"


Named = Mapping | View


def identifier(name: str) -> str:
    """Return a name as statements write it, with any letters in it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a text as statements write it."""
    return "'" + value.replace("'", "''") + "'"


def _column(column: Column) -> str:
    external = f" EXTERNAL NAME {identifier(column.external)}" if column.external is not None else ""
    return f"{identifier(column.name)} {_type(column.type)}{external}"


def _type(spark: str) -> str:
    """Return a type as statements write it: Spark writes names of fields between other quotes."""
    return re.sub("`((?:[^`]|``)*)`", lambda match: identifier(match[1].replace("``", "`")), spark)


def truth(text: str) -> bool:
    """Return what an option says that is true or false; ValueError if it is neither."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _hides(option: str, value: str) -> bool:
    """Return True if nobody is to see the value. A reference tells no secret."""
    return is_secret(option) and not is_reference(value)
