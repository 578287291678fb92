"""A query as Spark takes it: the user's own text with other names and without comments, so that it means what was written."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from pitstop.errors import UsageError
from pitstop.sql.dialect import PitstopSql
from pitstop.sql.places import Place
from pitstop.sql.queries import name_of_call
from pitstop.sql.statements import Query
from pitstop.sql.types import quoted


@dataclass(frozen=True)
class Edit:
    """A change of the letters from ``start`` up to, and without, ``end`` into another text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Rewritten:
    """A query's text for Spark, with the places in the user's text that its parts come from."""

    query: Query
    text: str
    edits: tuple[Edit, ...]
    """In the order of their places."""

    def place(self, start: int, stop: int) -> Place:
        """Return the place in the statements of the letters from ``start`` to ``stop`` of Spark's text."""
        begin, end = self._origin(start), self._origin(stop, last=True)
        return self.query.at_letter(begin, max(begin, end))

    def _origin(self, at: int, last: bool = False) -> int:
        """Return the letter of the user's text that a letter of Spark's text comes from: in an edit, its first or last one."""
        growth = 0
        for edit in self.edits:
            start = edit.start + growth
            if at < start:
                break
            if at < start + len(edit.text):
                return edit.end - 1 if last else edit.start
            growth += len(edit.text) - (edit.end - edit.start)
        return min(at - growth, len(self.query.text) - 1)


def rewritten(query: Query, tables: Iterable[tuple[exp.Table, str, str]]) -> Rewritten:
    """Return the query with other names of tables. ``tables``: (a table of its tree, Spark's name of it, the query's name of it).

    UsageError for a hint: what is in it nobody has checked.
    """
    tokens = PitstopSql().tokenize(query.text)
    for token in tokens:
        if token.token_type is TokenType.HINT:
            raise UsageError(query.at_letter(token.start, token.end).prefix + "There are no hints in a SELECT")
    starts = [token.start for token in tokens]
    of_tables = sorted((_of_table(starts, *each) for each in tables), key=lambda edit: edit.start)
    begins = [edit.start for edit in of_tables]

    def is_in_table(edit: Edit) -> bool:
        at = bisect_right(begins, edit.start) - 1
        return at >= 0 and edit.start < of_tables[at].end

    others = (*_of_quotes(tokens), *_of_gaps(query.text, tokens))
    edits = sorted((*of_tables, *(edit for edit in others if not is_in_table(edit))), key=lambda edit: edit.start)
    parts, at = [], 0
    for edit in edits:
        parts += [query.text[at : edit.start], edit.text]
        at = edit.end
    return Rewritten(query, "".join([*parts, query.text[at:]]), tuple(edits))


def _of_table(starts: list[int], table: exp.Table, view: str, title: str) -> Edit:
    """``starts``: of all tokens."""
    first = table.args.get("db") or table.this
    last = table.this
    if name_of_call(table.this):  # SNAPSHOT name STAGE name, which is read as a call
        name, last = (next(each.find_all(exp.Identifier)) for each in table.this.expressions)
        start = starts[bisect_left(starts, name.meta["start"]) - 1]
    else:
        start = first.meta["start"]
    alias = "" if table.args.get("alias") is not None else f" AS {quoted(title)}"
    return Edit(start, last.meta["end"] + 1, quoted(view) + alias)


def _of_quotes(tokens: list[Token]) -> Iterable[Edit]:
    """Yield edits of names in quotes, which Spark ends by its own rules, and of texts, in which Spark reads backslashes."""
    for token in tokens:
        if token.token_type is TokenType.IDENTIFIER:
            yield Edit(token.start, token.end + 1, quoted(token.text))
        elif token.token_type is TokenType.STRING:
            escaped = token.text.replace("\\", "\\\\").replace("'", "\\'")
            yield Edit(token.start, token.end + 1, f"'{escaped}'")


def _of_gaps(text: str, tokens: list[Token]) -> Iterable[Edit]:
    """Yield edits that make blanks of all between the tokens: Spark may end a comment where our check does not."""
    begins = [0, *(token.end + 1 for token in tokens)]
    ends = [*(token.start for token in tokens), len(text)]
    for start, end in zip(begins, ends, strict=True):
        blank = "".join("\n" if letter == "\n" else " " for letter in text[start:end])
        if blank != text[start:end]:
            yield Edit(start, end, blank)
