"""What ``*`` stands for within an expression of Spark's SQL."""

from __future__ import annotations

from itertools import pairwise

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

_BEFORE, _AFTER = (TokenType.L_PAREN, TokenType.COMMA), (TokenType.R_PAREN, TokenType.COMMA)


def stars_without(text: str, column: str) -> str:
    """The expression, in which each ``*`` among the arguments of a function stands for all columns but this one.

    A star that stands alone is left as it is, as is one of a table or a struct (``a.*``) and one that multiplies.
    """
    try:
        tokens = Spark().tokenize(text)
    except TokenError:
        return text
    ends = [star.end + 1 for before, star, after in _triples(tokens) if _is_argument(before, star, after)]
    for end in reversed(ends):
        text = f"{text[:end]} EXCEPT (`{column}`){text[end:]}"
    return text


def _triples(tokens: list[Token]) -> list[tuple[Token, Token, Token]]:
    return [(one, two, three) for (one, two), (_, three) in pairwise(pairwise(tokens))]


def _is_argument(before: Token, star: Token, after: Token) -> bool:
    return star.token_type == TokenType.STAR and before.token_type in _BEFORE and after.token_type in _AFTER
