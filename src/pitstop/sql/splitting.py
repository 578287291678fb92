"""Reads texts of statements, right or wrong, by their words and marks alone: the end of each statement, and all words."""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token, UnexpectedCharacters

from pitstop.sql.parsing import NAMES, parser

_OF_QUERIES = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "JOIN",
        "LEFT JOIN",
        "ON",
        "USING",
        "UNION ALL",
        "DISTINCT",
        "WITH",
        "CASE",
    ),
    *("WHEN", "THEN", "ELSE", "BETWEEN", "INTERVAL", "AND", "VALUES", "ORDER BY", "LIMIT", "TABLE", "TUMBLE", "HOP", "SESSION"),
    *("IMPOSE_ORDER", "DESCRIPTOR", "COUNT", "SUM", "AVG", "MIN", "MAX", "MIN_BY", "MAX_BY", "FILTER", "CAST", "STAGE"),
)


def is_complete(text: str) -> bool:
    """Return True if a text ends with the semicolon of a statement, outside of quotes, comments and BEGIN ... END."""
    last = None
    try:
        for token, ends in _tokens(text):
            last = token, ends
    except UnexpectedCharacters as error:
        # A quote that is still open waits for its end; anything else is told at once.
        return error.char not in ("'", '"', "/")
    return last is not None and last[1]


def pieces(text: str) -> list[str]:
    """Return each statement of a text as it is written, right or wrong; the whole text if its words cannot be told apart."""
    statements, begin = [], 0
    try:
        for token, ends in _tokens(text):
            if ends:
                statements.append(text[begin : token.start_pos])
                begin = token.end_pos or len(text)
    except UnexpectedCharacters:
        return [text]
    return [each for piece in (*statements, text[begin:]) if (each := piece.strip())]


def from_first_word(text: str) -> str:
    """Return a text without the comments before its first word; as it is if that is no word of ours."""
    try:
        token, _ = next(_tokens(text), (None, False))
    except UnexpectedCharacters:
        return text
    return text[token.start_pos :] if token is not None else text


def _tokens(text: str) -> Iterator[tuple[Token, bool]]:
    """Yield (each word and mark, True if it is the semicolon of a statement)."""
    before, within = "", False
    for token in parser().lex(text, dont_ignore=False):
        if token.type == "_BEGIN" and before == "_AS":
            within = True
        elif token.type == "_END":
            within = False
        before = token.type
        yield token, token.type == "SEMICOLON" and not within


def keywords() -> list[str]:
    """Return all words of the language, and the usual words of queries."""
    ours = {name for each in parser().terminals if (name := each.name.removeprefix("_")).isalpha() and name not in NAMES}
    return sorted(ours | set(_OF_QUERIES))
