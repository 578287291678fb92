"""What names in queries mean: mappings, which lead to rows outside, and views, which are queries."""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field

_WORDS = r"passw|passphrase|token|secret|credential|authorization|signature|(?:api|access|private|account|shared|\b)[-_.]?key\b"
_SECRET = re.compile(_WORDS, re.IGNORECASE)
"""Stands in the name of an option, or of a part of a URL, that nobody is to see."""
_IN_URL = re.compile(rf"([?&;][^=&;#]*(?:{_WORDS})[^=&;#]*=)[^&;#\s]*", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^/?#\s]*@")
_HIDDEN = "***"


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
        return self._statement(self.options)

    def shown_statement(self) -> str:
        """That statement as others may see it: without passwords, tokens and the like."""
        return self._statement({key: _HIDDEN if _SECRET.search(key) else _shown(value) for key, value in self.options.items()})

    def _statement(self, options: AnyMapping[str, str]) -> str:
        external = f" EXTERNAL NAME {identifier(self.external)}" if self.external is not None else ""
        columns = ", ".join(_column(column) for column in self.columns)
        given = ", ".join(f"{text(key)} = {text(value)}" for key, value in options.items())
        return (
            f"CREATE MAPPING {identifier(self.name)}{external}"
            + (f" ({columns})" if columns else "")
            + f" TYPE {identifier(self.type)}"
            + (f" OPTIONS ({given})" if given else "")
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


def _shown(value: str) -> str:
    """The value of an option, without what is secret in a URL."""
    return _IN_URL.sub(rf"\1{_HIDDEN}", _USER.sub(f"{_HIDDEN}@", value))


def _column(column: Column) -> str:
    external = f" EXTERNAL NAME {identifier(column.external)}" if column.external is not None else ""
    return f"{identifier(column.name)} {_type(column.type)}{external}"


def _type(spark: str) -> str:
    """A type as statements write it: Spark writes names of fields between other quotes."""
    return re.sub("`((?:[^`]|``)*)`", lambda found: identifier(found[1].replace("``", "`")), spark)
