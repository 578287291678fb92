"""Queries as trees of sqlglot, with what our language adds to Spark's: tables of functions, and the state of snapshots.

What would reach beyond the names that mappings give is refused here, wherever it stands.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from pitstop.errors import UsageError
from pitstop.sql.bounds import refuse_long, refuse_tokens
from pitstop.sql.dialect import PitstopSql
from pitstop.sql.functions import AGGREGATES, ALLOWED, REFUSED, WITHOUT_OPTIONS
from pitstop.sql.places import Place
from pitstop.sql.repeating import refuse_repeated
from pitstop.sql.statements import Query

STATE = "__state_of_snapshot"
"""The name of the function as which ``SNAPSHOT name STAGE name`` is read."""
INFORMATION = "information_schema"
SCHEMAS = ("public", INFORMATION)
SPANS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
MOST_TABLES = 500
"""The most times that a query may name tables."""
OWN_CALLS = frozenset(("tumble", "hop", "session", "impose_order", "descriptor", "table", STATE))
"""Names that our language writes like calls of functions, and that are no functions of Spark."""
LONGEST_MS = 100 * 365 * SPANS["day"]
"""The longest time of a window, or of a bound, in milliseconds: a century."""


def parse_query(query: Query) -> exp.Query | exp.Values:
    """Return the tree of a query; UsageError, with its place, for a text that is no query or reaches beyond mappings."""
    dialect = PitstopSql()
    try:
        refuse_long(query)
        all_tokens = dialect.tokenize(query.text)
        refuse_tokens(all_tokens, query)
        tokens = _plain(all_tokens)
        trees = dialect.parser().parse(tokens, query.text)
    except ParseError as error:
        fault = error.errors[0] if error.errors else {}
        line, column = int(fault.get("line") or 1), int(fault.get("col") or 1)
        message = str(fault.get("description") or "").rstrip(".")
        if not message or "<class" in message or message.startswith("Required keyword"):
            message = "The query is not complete here"
        raise UsageError(query.at(line, column, str(fault.get("highlight") or "")).prefix + message) from None
    except TokenError as error:
        raise UsageError(query.place.prefix + str(error).split("\n")[0]) from None
    except UsageError:
        raise
    except RecursionError:
        raise UsageError(query.place.prefix + "The query is nested too deeply") from None
    except (AttributeError, TypeError, ValueError, KeyError, IndexError):  # of the library, on a query that it did not expect
        raise UsageError(query.place.prefix + "The query is not understood") from None
    if len(trees) != 1 or not isinstance(trees[0], (exp.Query, exp.Values)):
        raise UsageError(query.place.prefix + "A query begins with SELECT, WITH or VALUES")
    tree = trees[0]
    tables = 0
    for node in tree.walk():
        _refuse(node, query)
        tables += isinstance(node, exp.Table)
    if query.bounded and tables > MOST_TABLES:
        raise UsageError(query.place.prefix + f"The query names more than {MOST_TABLES} tables: make several of it")
    if query.bounded:
        refuse_repeated(tree, query)
    return tree


def refuse_unknown(node: exp.Expr, query: Query) -> None:
    """Raise UsageError, with its place, for a call of a function that is not known only to compute."""
    for each in node.walk():
        name = name_of_call(each) if isinstance(each, exp.Anonymous) and not isinstance(each.parent, exp.Hint) else ""
        if name and name not in ALLOWED and name not in OWN_CALLS:
            raise wrong(each, query, f"There is no function {name.upper()} in queries")


def words_of(query: Query) -> set[str]:
    """Return the words and names of a query, in small letters; none if they are too many or cannot be told apart."""
    try:
        refuse_long(query)
        return {token.text.lower() for token in PitstopSql().tokenize(query.text) if token.token_type is not TokenType.STRING}
    except (UsageError, TokenError):
        return set()


def place_of(node: exp.Expr, query: Query) -> Place:
    """Return the place of a node in the text of the statements; the query's place if that is not known."""
    for each in node.walk():
        meta = each.meta
        if "line" in meta:
            length = max(1, meta["end"] - meta["start"] + 1)
            # The column is that of the last letter.
            return query.at(meta["line"], meta["col"] - length + 1, "x" * length)
    return query.place


def wrong(node: exp.Expr, query: Query, message: str) -> UsageError:
    """Return the error that says what is wrong with a part of a query, with its place."""
    return UsageError(place_of(node, query).prefix + message)


def name_of_call(node: exp.Expr) -> str:
    """Return the name of a function as it was written, in small letters; "" if the node is no call."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def is_aggregate(node: exp.Expr) -> bool:
    """Return True for a call of a function of many rows."""
    return isinstance(node, exp.AggFunc) or name_of_call(node) in AGGREGATES


def duration_ms(node: exp.Expr, query: Query) -> int:
    """Return the milliseconds of an INTERVAL; UsageError, with its place, for one without a fixed length."""
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) and node.unit is not None:
        span = SPANS.get(str(node.unit.name).lower().removesuffix("s"))
        try:
            ms = Decimal(node.this.name) * span if span is not None else Decimal(-1)
        except ArithmeticError:
            ms = Decimal(-1)
        if 0 <= ms <= LONGEST_MS and ms == int(ms):
            return int(ms)
    raise wrong(node, query, "Give a fixed time, as INTERVAL '1' MINUTE")


def _plain(tokens: list[Token]) -> list[Token]:
    """Drop TABLE before a name, which only says that one follows, and make the state of a snapshot a call."""
    plain: list[Token] = []
    at = 0
    while at < len(tokens):
        token, before = tokens[at], tokens[at - 1].token_type if at else None
        after = [each.token_type for each in tokens[at + 1 : at + 2]]
        if token.token_type is TokenType.TABLE and before is TokenType.L_PAREN and after != [TokenType.L_PAREN]:
            at += 1
            continue
        if token.text.upper() == "SESSION" and after == [TokenType.L_PAREN]:
            token = Token(TokenType.VAR, token.text, token.line, token.col)
        if _is_state(tokens[at : at + 4]) and before in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA):
            name, stage = tokens[at + 1], tokens[at + 3]
            marks = (TokenType.L_PAREN, "("), (TokenType.COMMA, ","), (TokenType.R_PAREN, ")")
            left_bracket, comma, right_bracket = (Token(kind, text, token.line, token.col) for kind, text in marks)
            plain += [Token(TokenType.VAR, STATE, token.line, token.col), left_bracket, name, comma, stage, right_bracket]
            at += 4
            continue
        plain.append(token)
        at += 1
    return plain


def _is_state(tokens: list[Token]) -> bool:
    words = [token.text.upper() for token in tokens]
    names = (TokenType.VAR, TokenType.IDENTIFIER)
    return len(tokens) == 4 and words[::2] == ["SNAPSHOT", "STAGE"] and all(t.token_type in names for t in tokens[1::2])


def _refuse(node: exp.Expr, query: Query) -> None:
    name = name_of_call(node)
    if name in REFUSED:
        raise wrong(node, query, f"{name.upper()} reaches beyond mappings, and is not allowed")
    if name in WITHOUT_OPTIONS and len(node.expressions) > WITHOUT_OPTIONS[name]:
        raise wrong(node, query, f"Options of {name.upper()} reach beyond mappings, and are not allowed")
    elsewhere = isinstance(node, exp.Table) and (node.args.get("db") is not None or node.args.get("catalog") is not None)
    if elsewhere and (node.args.get("catalog") is not None or node.text("db").lower() not in SCHEMAS):
        raise wrong(node, query, "A query reads only mappings and views")
    if isinstance(node, (exp.QueryTransform, exp.Into, exp.Lock)):
        raise wrong(node, query, "This is not possible here")
