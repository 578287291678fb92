"""The functions that Spark's Python workers run for stages that keep one row of state for each key.

A row travels as one struct, so that nothing changes its values, and comes out of Arrow as plain Python values. Where Pitstop's
own daemon runs (internals/daemon.py), a whole batch comes at once. In a session that has Spark's daemon, rows come key by key,
through pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import le
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from pitstop.spark.lowering.letters import LETTER, Letter, Letters, read_rows
from pitstop.spark.lowering.row_functions import RowError, Values
from pitstop.spark.state.codec import LAST, STATE, StateCodec
from pitstop.spark.state.row_shape import RowShape, plain

if TYPE_CHECKING:  # pandas takes time and memory, and few sessions use this way
    import pandas as pd

ROW, AT, SAVED = "__row", "__at", "__saved"
"""Columns in which the rows of a keyed stage travel: the row, its event time, and state that is restored."""

Made = Values | Letter
"""A keyed function's result: a row without its key, or a letter."""


class KeyState(Protocol):
    """The part of Spark's GroupState that a keyed function needs: the state of one key, and the key's timeout."""

    @property
    def exists(self) -> bool: ...
    @property
    def hasTimedOut(self) -> bool: ...
    @property
    def get(self) -> tuple[Any, ...]: ...
    def update(self, values: tuple[Any, ...]) -> None: ...
    def remove(self) -> None: ...
    def setTimeoutTimestamp(self, at: int) -> None: ...
    def getCurrentWatermarkMs(self) -> int: ...


@dataclass
class Items:
    """Rows for a keyed function in the order in which they came, and what came with each."""

    rows: list[Any]
    times: list[int | None]
    """Event times in ms since 1970."""
    saved: list[dict[str, Any] | None] | None = None
    """Restored state, each in the place of a row; None if there is none at all."""
    readable: bool = True
    """False if there may be letters among the rows."""

    def part(self, start: int, count: int) -> Items:
        """Return ``count`` items from ``start`` on."""
        end = start + count
        saved = None if self.saved is None else self.saved[start:end]
        return Items(self.rows[start:end], self.times[start:end], saved, self.readable)

    def extend(self, more: Items) -> None:
        """Add more items behind them."""
        self.rows += more.rows
        self.times += more.times
        self.readable = self.readable and more.readable
        if self.saved is not None and more.saved is not None:
            self.saved += more.saved

    def live(self) -> Items:
        """Return the items that are rows, without those that are restored state."""
        if self.saved is None:
            return self
        return self._at([place for place, saved in enumerate(self.saved) if saved is None])

    def without_letters(self) -> tuple[Items, list[Letter]]:
        """Return (the items that are no letters, the letters)."""
        if self.readable:
            return self, []
        places = [place for place, row in enumerate(self.rows) if not isinstance(row, Letter)]
        return self._at(places), [row for row in self.rows if isinstance(row, Letter)]

    def in_order(self) -> Items:
        """Return the items by event time.

        Items of equal times stay in the order in which they came, and rows without a time come first.
        """
        times = [0 if at is None else at for at in self.times]
        if all(map(le, times, times[1:])):
            return self
        return self._at(sorted(range(len(times)), key=times.__getitem__))

    def _at(self, places: Sequence[int]) -> Items:
        return Items([self.rows[place] for place in places], [self.times[place] for place in places], None, self.readable)


@dataclass(frozen=True)
class KeyedFunction:
    """A function that Spark calls for each key of an epoch. It is pickled and runs in the workers."""

    keys: tuple[str, ...]
    codec: StateCodec
    """Between the state's fields and the text that Spark keeps."""
    shape: RowShape
    """Makes rows of the structs in which they travel."""
    outputs: tuple[str, ...]
    """Columns of the rows that it makes, beside the keys."""
    handle: Callable[[SimpleNamespace, list[Any]], Iterable[Values]]
    """``(state, rows) -> rows``; changes the state."""
    evict: Callable[[SimpleNamespace, Values, int], Iterable[Values]]
    """``(state, key, time in ms) -> rows``, when a key's state is dropped."""
    ttl_ms: int | None
    """The time after its last event at which a key's state is dropped, in milliseconds; None: never."""
    timed: bool
    """True if rows have an event time, by which those of an epoch are then ordered."""
    letters: Letters | None = None
    """Writes letters of rows that it cannot take, which then come in a column behind the others."""

    def __call__(self, key: Values, frames: Iterator[pd.DataFrame], state: KeyState) -> Iterator[pd.DataFrame]:
        """Process the rows of one key in Spark's own way, as pandas objects."""
        import pandas as pd

        items = Items([], [], [])
        for frame in frames if not state.hasTimedOut else ():
            items.extend(self._of_pandas(frame))
        out = self.of_key(key, items, state)
        if out:
            behind = [] if self.letters is None else [LETTER]
            yield pd.DataFrame(out, columns=[*self.keys, *self.outputs, *behind], dtype=object)

    def of_arrow(self, batch: pa.RecordBatch) -> Items:
        """Return the rows of a batch with the columns ROW, AT and SAVED, of which the last two may be missing."""
        (rows, readable), names = read_rows(self.shape, batch.column(ROW), self.letters), batch.schema.names
        times: list[int | None] = _millis(batch.column(AT)) if AT in names else [None] * len(rows)
        return Items(rows, times, batch.column(SAVED).to_pylist() if SAVED in names else None, readable)

    def keys_of_arrow(self, columns: Sequence[pa.Array]) -> list[Values]:
        """Return the keys that stand in these columns."""
        return list(zip(*map(self._plain, columns), strict=True))

    def of_key(self, key: Values, items: Items, state: KeyState) -> list[Values]:
        """Return the rows, keys first, that one key's items make; keep the key's new state."""
        text, last = state.get if state.exists else (None, None)
        for saved in filter(None, items.saved or ()):
            text, last = saved[STATE], saved[LAST]
        try:
            held = self._namespace(text)
        except ValueError as error:
            return self._sent(key, self._unread(key, items, state, text, last, error))
        out: list[Made]
        if state.hasTimedOut:
            out = self._evicted(held, last, key)
            state.remove()
        else:
            live, letters = items.live().without_letters()
            live = live.in_order() if self.timed else live
            if self._guard is None:
                held, last, out = self._handled(key, live, held, last)
                text = None
            else:
                held, last, out, text = self._guarded(key, live, held, last, text)
            if state.exists or any(items.saved or ()) or len(live.rows) > sum(isinstance(row, Letter) for row in out):
                out += self._close(held, text, last, key, state)
            out += letters
        return self._sent(key, out)

    def _handled(
        self, key: Values, items: Items, held: SimpleNamespace, last: int | None
    ) -> tuple[SimpleNamespace, int | None, list[Made]]:
        """Return (state, time of its last event, rows) after these items."""
        out: list[Made] = []
        begun = 0
        for place, at in enumerate(items.times) if self.timed else ():
            if self._expired(last, at):
                # By the row's own time, not by the epoch's watermark: the outcome must not hang on where epochs end.
                out += self.handle(held, items.rows[begun:place])
                out += self._evicted(held, last, key)
                held, last, begun = self._namespace(None), None, place
            if last is None or (at is not None and at > last):
                last = at
        out += self.handle(held, items.rows[begun:] if begun else items.rows)
        return held, last, out

    def _guarded(
        self, key: Values, items: Items, held: SimpleNamespace, last: int | None, before: str | None
    ) -> tuple[SimpleNamespace, int | None, list[Made], str | None]:
        """Handle the items one by one, and write a letter for each row for which the function fails.

        Such a row leaves the state as it was. ``before`` is the text of the state, and so is the last value that is returned.
        """
        assert self.letters is not None
        out: list[Made] = []
        for row, at in zip(items.rows, items.times, strict=True):
            expired = self.timed and self._expired(last, at)
            tried = self._namespace(None) if expired else held
            try:
                results = list(self.handle(tried, [row]))
                after = self.codec.encode(vars(tried))
                self.letters.check(results)
            except Exception as error:  # the function is the user's: the row goes to the dead letters
                out.append(self.letters.of_row(row, error.error if isinstance(error, RowError) else error))
                held = self._namespace(before)
                continue
            if expired:
                out += self._evicted(held, last, key)
                last = None
            out += results
            held, before = tried, after
            if self.timed and (last is None or (at is not None and at > last)):
                last = at
        return held, last, out, before

    def _unread(
        self, key: Values, items: Items, state: KeyState, text: str | None, last: int | None, error: ValueError
    ) -> list[Made]:
        """Return letters for all rows of a key whose state cannot be read. The state stays as it is until its time has come."""
        guard = self._guard
        if guard is None:
            raise ValueError(f"{error}; dead_letters of map_stateful keep the rows of such a key aside") from None
        out: list[Made] = []
        if not state.hasTimedOut:
            live, letters = items.live().without_letters()
            out = [*(guard.of_row(row, error) for row in live.rows), *letters]
            if not self._over(last, state):
                self._keep(text, last, state)
                return out
        if state.exists:
            state.remove()
        return [*out, guard.of_key(key, text or "", error)]

    def _sent(self, key: Values, out: list[Made]) -> list[Values]:
        """Return the rows as they leave: keys first, letters last."""
        own = key if self.keys else ()
        if self.letters is None:
            return [(*own, *row) for row in out if not isinstance(row, Letter)]
        nothing = self.letters.nothing()
        return [(*own, *nothing, row.parts) if isinstance(row, Letter) else (*own, *row, None) for row in out]

    def _plain(self, column: pa.Array) -> list[Any]:
        """Return the values of a key's column, with None for a value that Python cannot hold.

        The rows of such a key are letters.
        """
        try:
            return plain(column)
        except (OverflowError, ValueError):
            if self.letters is None:
                raise
        values: list[Any] = []
        for place in range(len(column)):
            try:
                values += plain(column.slice(place, 1))
            except (OverflowError, ValueError):
                values.append(None)
        return values

    def _of_pandas(self, frame: pd.DataFrame) -> Items:
        columns = [name for name in (ROW, AT, SAVED) if name in frame]
        items = self.of_arrow(pa.RecordBatch.from_pydict({name: self._arrow(name, frame[name]) for name in columns}))
        return items if items.saved is not None else Items(items.rows, items.times, [None] * len(items.rows))

    def _arrow(self, name: str, values: pd.Series) -> pa.Array:
        if name == ROW:
            return pa.array(list(values), self.shape.arrow)
        return pa.array(list(values), pa.timestamp("us") if name == AT else _SAVED)

    def _namespace(self, text: str | None) -> SimpleNamespace:
        return SimpleNamespace(**self.codec.decode(text))

    def _close(self, held: SimpleNamespace, text: str | None, last: int | None, key: Values, state: KeyState) -> list[Made]:
        """Keep the state until its time has come, which may be now. ``text`` is the text of the state, if it is known."""
        if self._over(last, state):
            if state.exists:
                state.remove()
            return self._evicted(held, last, key)
        self._keep(self.codec.encode(vars(held)) if text is None else text, last, state)
        return []

    def _keep(self, text: str | None, last: int | None, state: KeyState) -> None:
        state.update((text, last))
        if self.ttl_ms is not None and last is not None:
            state.setTimeoutTimestamp(max(last + self.ttl_ms, 1))

    def _over(self, last: int | None, state: KeyState) -> bool:
        """True if the watermark is beyond the time of the state."""
        # Without a time to live the stage may have no event time, and Spark then knows of no watermark. It shows a function 0 for
        # every one before 1970: whose time is over by then is not known before the watermark has passed that.
        return self.ttl_ms is not None and self._expired(last, state.getCurrentWatermarkMs() or None)

    def _expired(self, last: int | None, now: int | None) -> bool:
        return self.ttl_ms is not None and last is not None and now is not None and last + self.ttl_ms <= now

    def _evicted(self, held: SimpleNamespace, last: int | None, key: Values) -> list[Made]:
        state, guard = "", self._guard
        try:
            state = self.codec.encode(vars(held)) if guard is not None else ""
            rows = list(self.evict(held, key if self.keys else (), (last or 0) + (self.ttl_ms or 0)))
            if guard is not None:
                guard.check(rows)
        except Exception as error:
            if guard is None:
                raise
            return [guard.of_key(key, state, error)]
        return [*rows]

    @property
    def _guard(self) -> Letters | None:
        """The writer of letters for rows for which the function fails; None if these end the epoch."""
        return self.letters if self.letters is not None and self.letters.guards else None


class NoState:
    """A stand-in for Spark's GroupState where nothing is kept: no state, and a watermark before all time."""

    exists = hasTimedOut = False
    get: tuple[Any, ...] = (None, None)

    def getCurrentWatermarkMs(self) -> int:
        return -(2**62)

    def update(self, values: tuple[Any, ...]) -> None:
        pass

    def remove(self) -> None:
        pass

    def setTimeoutTimestamp(self, at: int) -> None:
        pass


class EndOfRows(NoState):
    """The stand-in where all rows of a key have been read, and no more come: a watermark beyond all time.

    So the state of each key has come to its end, and ``on_evict`` gets it, as all windows end there.
    """

    def getCurrentWatermarkMs(self) -> int:
        return 2**62


_SAVED = pa.struct([(STATE, pa.string()), (LAST, pa.int64())])


def _millis(times: pa.Array) -> list[int | None]:
    # Whole numbers: a float of seconds would lose a millisecond now and then.
    micros = times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64()).to_pylist()
    return [None if at is None else at // 1000 for at in micros]
