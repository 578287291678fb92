"""Values of several parts that stand among the options of a source, each as one text."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Self, cast


class OptionValue:
    """The base of frozen dataclasses whose fields are JSON values with a default."""

    def to_text(self) -> str:
        """Return the fields that differ from their default, as an option of a source."""
        parts = {each.name: getattr(self, each.name) for each in fields(cast("Any", self))}
        usual = {each.name: each.default for each in fields(cast("Any", self))}
        return json.dumps({name: part for name, part in parts.items() if part != usual[name]}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the value of :meth:`to_text`."""
        return cls(**json.loads(text))
