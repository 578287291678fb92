"""What names in queries mean: mappings, which lead to rows outside, and views, which are queries."""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """Of a mapping."""

    name: str
    type: str
    """As Spark calls it."""
    external: str | None = None
    """What it is called outside; None: the same."""

    @property
    def outside(self) -> str:
        """What it is called outside."""
        return self.external if self.external is not None else self.name


@dataclass(frozen=True)
class Mapping:
    """Rows outside under a name: of a source, of a sink, or of both."""

    name: str
    type: str
    """Names its connector."""
    columns: tuple[Column, ...] = ()
    options: AnyMapping[str, str] = field(default_factory=dict)
    external: str | None = None
    """What the rows are called outside; None: the same."""

    @property
    def outside(self) -> str:
        """What the rows are called outside."""
        return self.external if self.external is not None else self.name

    def statement(self) -> str:
        """The CREATE MAPPING that makes it."""
        external = f" EXTERNAL NAME {identifier(self.external)}" if self.external is not None else ""
        columns = ", ".join(_column(column) for column in self.columns)
        options = ", ".join(f"{text(key)} = {text(value)}" for key, value in self.options.items())
        return (
            f"CREATE MAPPING {identifier(self.name)}{external}"
            + (f" ({columns})" if columns else "")
            + f" TYPE {identifier(self.type)}"
            + (f" OPTIONS ({options})" if options else "")
        )


@dataclass(frozen=True)
class View:
    """A query under a name."""

    name: str
    query: str

    def statement(self) -> str:
        """The CREATE VIEW that makes it."""
        return f"CREATE VIEW {identifier(self.name)} AS {self.query}"


Named = Mapping | View


def identifier(name: str) -> str:
    """A name as statements write it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as statements write it."""
    return "'" + value.replace("'", "''") + "'"


def _column(column: Column) -> str:
    external = f" EXTERNAL NAME {identifier(column.external)}" if column.external is not None else ""
    return f"{identifier(column.name)} {_type(column.type)}{external}"


def _type(spark: str) -> str:
    """A type as statements write it: Spark writes names of fields between other quotes."""
    return re.sub("`((?:[^`]|``)*)`", lambda found: identifier(found[1].replace("``", "`")), spark)
