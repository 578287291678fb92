"""A source as a value: the origin of rows, which the engine opens."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Source:
    """The origin of rows. Functions make one for their users; see docs/extending.md."""

    kind: str
    """The name of the SourceKind by which the engine opens it."""
    options: dict[str, str] = field(default_factory=dict)
    """The options of its reader."""
    schema: str | None = None
    """The DDL of its rows; None if the reader knows it."""
    parse: str | None = None
    """``csv`` or ``json`` if the reader delivers text in a column ``value``, which Spark parses with the schema; ``avro``,
    ``protobuf`` or ``debezium`` if it delivers rows and what speaks against them. Rows that do not parse are counted, sampled in
    the log, and go to the dead letters."""
    parse_options: dict[str, str] = field(default_factory=dict)
    """The options of Spark's parser."""
    bounded: bool = False
    """True if the source ends. A job whose sources all end completes."""
    reader: Any = None
    """For ``custom``: the DataSource class; for ``items``: the rows."""
    tells_bad: bool = False
    """True if its reader parses text itself and marks the rows that do not parse (``files``). They are treated as with
    ``parse``."""
    metadata: tuple[str, ...] = ()
    """The columns that the reader delivers beside the text, and that stay beside the parsed ones."""

    @property
    def values(self) -> list[Any]:
        """All that its user has written: the texts of its options, and the values in those that are JSON."""
        texts = [*self.options.values(), *self.parse_options.values()]
        return [*texts, *(json.loads(text) for text in texts if text.startswith("{") and text.endswith("}") and _is_json(text))]

    @property
    def digest(self) -> str:
        """A hash of the settings, equal for equal ones; options may be secret. The rows of ``items`` are not part of it."""
        reader = self.reader.__name__ if isinstance(self.reader, type) else ""
        options = sorted((name, str(value)) for name, value in self.options.items())
        facts: list[Any] = [self.kind, options, self.schema, self.parse, sorted(self.parse_options.items()), self.bounded, reader]
        facts += [self.metadata] if self.metadata else []
        return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
