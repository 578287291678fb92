"""Lines of logs for people (docs/logging.md)."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pitstop.kit.plain_text import in_one_line

_PLACED = ("time", "level", "logger", "msg", "error")
"""The keys of a line that have a place of their own."""
THREAD = ("thread",)
OF_ONE_JOB = ("thread", "job", "run")
"""The keys that say nothing new in the log of one job."""


@dataclass(frozen=True)
class Line:
    """A line of a log, with its facts."""

    raw: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, raw: str) -> Line:
        """Return a line as it is stored. A line that is no JSON object has a message alone."""
        try:
            facts = json.loads(raw)
        except ValueError:
            facts = None
        return cls(raw, facts if isinstance(facts, dict) else {"msg": raw})

    def text(self, hidden: Collection[str] = ()) -> str:
        """Return the line for people: time, level, logger, message, facts but the hidden ones; a trace on lines of its own."""
        facts = self.facts
        if set(facts) == {"msg"}:
            return self.raw
        time_text = str(facts.get("time", "")).replace("T", " ").replace(",", ".")
        more = [name for name in facts if name not in _PLACED and name not in hidden]
        words = [
            time_text,
            f"{facts.get('level', ''):<5}",
            f"{facts['logger']}:" if facts.get("logger") else "",
            in_one_line(str(facts.get("msg", ""))),
        ]
        words += [f"{name}={_value(facts[name])}" for name in more]
        trace = str(facts["error"]).rstrip("\n") if facts.get("error") else ""
        return "\n".join([" ".join(filter(None, words)), *(f"    {each}" for each in trace.splitlines())])


def _value(value: Any) -> str:
    return in_one_line(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
