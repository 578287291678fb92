"""Names the stages of a query that keep state: by the query's title, by what they compute, or by a hint.

A name never depends on a place in the query.

``SELECT /*+ STAGE(name) */`` names the last stage with state of its SELECT, ``STAGE(name, usual)`` the one that is called
``usual`` without it.
"""

from __future__ import annotations

from sqlglot import exp

from pitstop.pipeline.stages import Pipeline
from pitstop.sql.queries import wrong
from pitstop.sql.statements import Query

HINT = "STAGE"


class StageNames:
    """The names of the stages of one SELECT. UsageError, with its place, for an unknown hint."""

    def __init__(self, node: exp.Select, query: Query, title: str | None, pipeline: Pipeline) -> None:
        """``title``: the name of the query's result."""
        self._node, self._query, self._pipeline = node, query, pipeline
        self._hints: dict[str, exp.Expr] = {}
        """Usual name -> the name that a hint gives it, until the stage is met."""
        self.title = title
        hint = node.args.get("hint")
        for each in hint.expressions if hint is not None else ():
            parts = each.expressions if isinstance(each, exp.Anonymous) and str(each.this).upper() == HINT else []
            if len(parts) not in (1, 2):
                raise wrong(each, query, f"The only hints are {HINT}(name) and {HINT}(name, usual name)")
            if len(parts) == 1:
                self.title = str(parts[0].name)
            else:
                self._hints[str(parts[1].name)] = parts[0]

    def name(self, usual: str, last: bool = True) -> str:
        """Return the name of a stage whose usual name, from what it computes, is ``usual``.

        ``last``: no other stage with state follows it in the SELECT. UsageError, with its place, for a name that is taken."""
        hint = self._hints.pop(usual, None)
        name = str(hint.name) if hint is not None else (self.title if last else None) or usual
        if any(node.name == name for node in self._pipeline.nodes):
            message = f"Two stages would be called '{name}': name this one by a CTE of its own, or by SELECT /*+ {HINT}(name) */"
            if not last:
                message = f"Two stages would be called '{name}': name this one by SELECT /*+ {HINT}(name, \"{usual}\") */"
            raise wrong(self._node, self._query, message)
        return name

    def finish(self) -> None:
        """Raise UsageError, with its place, for a hint whose stage has not been met."""
        for usual, node in self._hints.items():
            raise wrong(node, self._query, f"No stage with state is called '{usual}' here")
