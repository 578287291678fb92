"""Checks before a query is parsed: its size, and words that Spark reads otherwise than we do."""

from __future__ import annotations

import re
from itertools import islice, pairwise

from sqlglot.tokenizer_core import Token, TokenType

from pitstop.errors import UsageError
from pitstop.sql.dialect import PitstopSql
from pitstop.sql.statements import Query

MOST_TOKENS = 20_000
"""The most words and signs that a query may have. As a tree they take ten to twenty mebibytes of memory."""
DEEPEST, DEEPEST_TYPES, MOST_NAMED = 100, 8, 500
"""The most levels of brackets, or of CASE with its END; the most levels of brackets behind the name of a type; and the most
queries that WITH names."""
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
_ENDS = {TokenType.GT: "type", TokenType.END: "case"}
_TYPES = {word for word, kind in PitstopSql.Tokenizer.KEYWORDS.items() if kind in PitstopSql.Parser.TYPE_TOKENS}
_TEXTS_TOO = "Write a text in single quotes, with no letter before them"
_REFUSED = {
    **dict.fromkeys(
        (
            *(TokenType.NATIONAL_STRING, TokenType.NATIONAL_RAW_STRING, TokenType.RAW_STRING, TokenType.UNICODE_STRING),
            *(TokenType.HEREDOC_STRING, TokenType.BYTE_STRING, TokenType.BIT_STRING),
        ),
        _TEXTS_TOO,
    ),
}
"""Kind of token that Spark reads otherwise than we do -> the sentence that refuses it."""
_COMMENT = r"--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
_TOKEN = re.compile(rf"""{_COMMENT}|('(?:[^']|'')*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\w+|\S)""")
"""Matches roughly a token of the library, or a comment, which is in no group. An open one goes on to the end of the text."""


def refuse_long(query: Query) -> None:
    """Raise UsageError for a query of too many tokens, without making them all: a mebibyte of tokens takes 250 in memory."""
    if not query.bounded:
        return
    # Some are several of these: 1.5, and <=.
    pieces = (match for match in _TOKEN.finditer(query.text) if match[1] is not None)
    beyond = next(islice(pieces, 2 * MOST_TOKENS, None), None)
    if beyond is not None:
        raise _too_long(query)


def refuse_tokens(tokens: list[Token], query: Query) -> None:
    """Raise UsageError for too many tokens, for tokens that Spark reads otherwise than we do, and for levels beyond the bounds.

    The library's parser takes twice as long for each level of some expressions."""
    if query.bounded and len(tokens) > MOST_TOKENS:
        raise _too_long(query)
    within: list[str] = []
    before: Token | None = None
    for token in tokens:
        kind, of_type = token.token_type, before is not None and before.text.upper() in _TYPES
        if kind in _REFUSED:
            raise UsageError(query.at_letter(token.start, token.end).prefix + _REFUSED[kind])
        if before is not None and before.token_type is TokenType.USING and kind is not TokenType.L_PAREN:
            # Spark may read TRANSFORM, MAP or REDUCE ... USING 'command', which is a script, where we read a join and its alias.
            message = "Behind USING stand columns in brackets, USING (id), and never a script"
            raise UsageError(query.at_letter(before.start, before.end).prefix + message)
        of_case = kind is TokenType.CASE and (before is None or before.token_type is not TokenType.DOT)
        if kind in _OPENING or of_case or (kind is TokenType.LT and of_type):
            within.append("case" if of_case else "type" if of_type else "")
            if len(within) > DEEPEST or within.count("type") > DEEPEST_TYPES:
                raise UsageError(query.at_letter(token.start, token.end).prefix + "The query is nested too deeply")
        elif within and (kind in _CLOSING or _ENDS.get(kind) == within[-1]):
            within.pop()
        before = token
    pairs = pairwise(tokens)
    if sum(each.token_type is TokenType.ALIAS and then.token_type is TokenType.L_PAREN for each, then in pairs) > MOST_NAMED:
        raise UsageError(query.place.prefix + f"The query names more than {MOST_NAMED} others (WITH ... AS)")


def _too_long(query: Query) -> UsageError:
    return UsageError(query.place.prefix + f"The query has more than {MOST_TOKENS:,} words and signs: make several of it")
