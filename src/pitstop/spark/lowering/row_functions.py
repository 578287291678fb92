"""The work of a keyed stage on the rows of a key: a user-defined function is called, or rows are folded into accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

from pitstop.spark.lowering.letters import sentence

Values = tuple[Any, ...]
"""The values of a row without its key's."""


class RowError(Exception):
    """A user-defined function failed for a row; the exception before it says why."""

    def __init__(self, stage: str, row: Any, error: Exception) -> None:
        text = repr(row)
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        super().__init__(
            f"stage '{stage}' fails for the row {text}: {sentence(error)}. Mend its function, or give map_stateful "
            "dead_letters, which keep such rows."
        )
        self.error = error


@dataclass(frozen=True)
class UserFunction:
    """A user-defined function, which may return None, a row, or a list of rows."""

    function: Callable[..., Any]
    outputs: tuple[str, ...]
    stage: str

    def each(self, held: SimpleNamespace, rows: list[Any]) -> list[Values]:
        """Call the function with the state and each row; return the rows that it makes."""
        out: list[Values] = []
        function, width = self.function, len(self.outputs)
        row: Any = None
        try:
            for row in rows:
                result = function(held, row)
                if type(result) is tuple and len(result) == width:
                    out.append(result)
                elif result is not None:
                    out += self._rows(result)
        except Exception as error:
            raise RowError(self.stage, row, error) from error
        return out

    def once(self, *arguments: Any) -> list[Values]:
        """Call the function with these arguments; return the rows that it makes."""
        result = self.function(*arguments)
        return [] if result is None else self._rows(result)

    def _rows(self, result: Any) -> list[Values]:
        return [self._row(row) for row in (result if isinstance(result, list) else [result])]

    def _row(self, row: Any) -> Values:
        if isinstance(row, dict):
            odd = set(row) - set(self.outputs)
            if odd:
                raise ValueError(f"stage '{self.stage}' returned a column '{min(odd)}'; its output is {', '.join(self.outputs)}")
            return tuple(row.get(name) for name in self.outputs)
        values = tuple(row) if isinstance(row, tuple) else (row,)
        if len(values) != len(self.outputs):
            raise ValueError(f"stage '{self.stage}' returned {len(values)} values; its output is {', '.join(self.outputs)}")
        return values


def never(*_: Any) -> list[Values]:
    """Return the ``evict`` of stages that never drop state."""
    return []


@dataclass(frozen=True)
class FoldInto:
    """The way in which an accumulator takes in lifted values, one after the other."""

    name: str
    fold: Callable[[Any, Any], Any]
    collects: bool
    """True if the accumulator is a list of lifted values, so that the first value becomes a list of one."""

    def running(self, before: Any, values: Sequence[Any]) -> list[Any]:
        """Return the accumulator after each of the values; ``before`` is its value before them."""
        if not self.collects and None not in values:
            return list(accumulate(values, self.fold) if before is None else accumulate(values, self.fold, initial=before))[
                -len(values) :
            ]
        accumulators = []
        for value in values:
            if value is not None:
                first = [value] if self.collects else value
                before = first if before is None else self.fold(before, value)
            accumulators.append(before)
        return accumulators


@dataclass(frozen=True)
class Fold:
    """A fold of rows into the accumulators of their key, which gives each row with the values that they then have.

    The lifted values stand at the end of the row, one for each accumulator.
    """

    folds: tuple[FoldInto, ...]
    carried: tuple[int, ...]
    """The places of the row's values that are passed on."""

    def __call__(self, held: SimpleNamespace, rows: list[Values]) -> list[Values]:
        if not rows:
            return []
        columns = list(zip(*rows, strict=True))
        lifted = columns[-len(self.folds) :]
        totals = [fold.running(getattr(held, fold.name), values) for fold, values in zip(self.folds, lifted, strict=True)]
        for fold, own in zip(self.folds, totals, strict=True):
            setattr(held, fold.name, own[-1])
        return list(zip(*[columns[place] for place in self.carried], *totals, strict=True))


_SHOWN = 300
