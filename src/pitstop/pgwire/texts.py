"""Text literals in forms that only PostgreSQL has."""

from __future__ import annotations

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from pitstop.sql.mappings import text as literal


def with_plain_texts(statements: str) -> str:
    """Return the statements with 'x' in the place of E'x' and $$x$$, which clients use for values with a backslash."""
    try:
        tokens = Postgres().tokenize(statements)
    except TokenError:
        return statements  # the reader of the statements reports the error
    parts, at = [], 0
    for token in tokens:
        if token.token_type in (TokenType.BYTE_STRING, TokenType.HEREDOC_STRING):
            parts += [statements[at : token.start], literal(token.text)]
            at = token.end + 1
    return "".join([*parts, statements[at:]])
