"""The meaning of ``*`` within an expression of Spark's SQL."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

_STAR = re.compile(r"[(,]\s*\*\s*[,)]")
"""A star among arguments, in the text of an object of Spark's."""


def sees_all(expression: Any) -> bool:
    """Return True if a Spark object has a ``*`` among the arguments of a function: unlike a text, it cannot be rewritten."""
    return not isinstance(expression, str) and _STAR.search(str(expression)) is not None


def stars_without(text: str, column: str) -> str:
    """Return the expression with each ``*`` among a function's arguments replaced by all columns but this one.

    A star that stands alone stays as it is. So does a star of a table or a struct (``a.*``), and one that multiplies.
    """
    if "*" not in text:
        return text
    # Few jobs have stars: the others do without the library.
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import TokenError
    from sqlglot.tokenizer_core import TokenType

    openers, closers = (TokenType.L_PAREN, TokenType.COMMA), (TokenType.R_PAREN, TokenType.COMMA)
    try:
        tokens = Spark().tokenize(text)
    except TokenError:
        return text
    triples = ((one, two, three) for (one, two), (_, three) in pairwise(pairwise(tokens)))
    ends = [
        star.end + 1
        for before, star, after in triples
        if star.token_type == TokenType.STAR and before.token_type in openers and after.token_type in closers
    ]
    for end in reversed(ends):
        text = f"{text[:end]} EXCEPT (`{column}`){text[end:]}"
    return text
