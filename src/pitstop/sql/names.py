"""Finds what a query reads: mappings and views, the state of snapshots, tables of information_schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.sql.connectors import connector_of
from pitstop.sql.mappings import Mapping, Named, View
from pitstop.sql.places import Place
from pitstop.sql.queries import INFORMATION, STATE, name_of_call, parse_query, words_of, wrong
from pitstop.sql.statements import Query
from pitstop.sql.windowing import WINDOWS


@dataclass(frozen=True)
class Reads:
    """The things that queries read, themselves and through views."""

    named: dict[str, Named]
    """Mappings and views, by name; names that mean nothing are left out."""
    states: frozenset[tuple[str, str]]
    """(snapshot, stage) of saved state."""
    information: frozenset[str]
    """Tables of information_schema, in small letters."""

    @property
    def mappings(self) -> list[Mapping]:
        """The mappings among ``named``."""
        return [thing for thing in self.named.values() if isinstance(thing, Mapping)]


def reads(queries: Iterable[Query], things: AnyMapping[str, Named]) -> Reads:
    """Return what queries read; UsageError, with its place, for a text that is no query."""
    by_name: dict[str, Named] = {}
    states: set[tuple[str, str]] = set()
    information: set[str] = set()
    pending = list(queries)
    while pending:
        tree = parse_query(pending.pop())
        states |= {state for table in tree.find_all(exp.Table) if (state := state_of(table)) is not None}
        information |= {table.name.lower() for table in tree.find_all(exp.Table) if is_information(table)}
        for name in {node.name for node in outside(tree)} - by_name.keys():
            thing = things.get(name)
            if thing is not None:
                by_name[name] = thing
            if isinstance(thing, View):
                pending.append(query_of(thing))
    return Reads(by_name, frozenset(states), frozenset(information))


def outside(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a query that name mappings and views, and not its own CTEs."""
    for node in beyond_ctes(tree):
        of_call = isinstance(node, exp.Column) and _is_rows_of_call(node)
        of_name = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not is_information(node)
        if of_call or of_name:
            yield node


def beyond_ctes(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the tables and columns of a query whose names mean no CTE.

    A name means a CTE that stands before it, in the same query or in one around it. A hint names no table."""
    pending: list[tuple[exp.Expr, _Seen]] = [(tree, ())]
    while pending:
        node, visible = pending.pop()
        ctes = node.args.get("with_")
        if ctes is not None:
            first: dict[str, int] = {}
            around, own = visible, 1 if ctes.args.get("recursive") else 0
            for at, cte in enumerate(ctes.iter_expressions()):
                first.setdefault(cte.alias, at)
                pending.append((cte, (*around, (first, at + own))))
            visible = (*around, (first, len(ctes.expressions)))
        pending += [(each, visible) for each in node.iter_expressions() if each is not ctes and not isinstance(each, exp.Hint)]
        of_schema = isinstance(node, exp.Table) and node.args.get("db") is not None
        if isinstance(node, (exp.Table, exp.Column)) and (
            of_schema or not any(names.get(node.name, until) < until for names, until in visible)
        ):
            yield node


_Seen = tuple[tuple[dict[str, int], int], ...]
"""For each WITH around a part: the names of its CTEs with their places, and the place from which on they cannot be seen."""


def is_information(table: exp.Table) -> bool:
    """Return True for a table of information_schema."""
    return str(table.db).lower() == INFORMATION


def state_of(table: exp.Table) -> tuple[str, str] | None:
    """Return (snapshot, stage) if a table of a query is the state of these; else None."""
    call = table.this
    if name_of_call(call) != STATE or len(call.expressions) != 2:
        return None
    return str(call.expressions[0].name), str(call.expressions[1].name)


def query_of(view: View) -> Query:
    """Return the query of a view; places in it are counted from its own beginning."""
    return Query(view.query, Place(1, 1, 1, 1), bounded=False)


def check_view(view: View, place: Place, things: AnyMapping[str, Named]) -> None:
    """Raise UsageError, with its place, if a view cannot be read: it names what does not exist, or leads back to itself."""
    query = Query(view.query, place)
    for node in outside(parse_query(query)):
        if node.name == view.name:
            raise wrong(node, query, f"View '{view.name}' would read itself")
        if node.name not in things:
            raise wrong(node, query, f"Object '{node.name}' not found, did you forget to CREATE MAPPING?")
    if view.name in reads([query], things).named:
        raise UsageError(place.prefix + f"View '{view.name}' would read itself")


def streams(query: Query, things: AnyMapping[str, Named]) -> bool:
    """Return True if something that a query reads has no end. UsageError if it cannot be read."""
    return is_endless(reads([query], things))


def is_endless(contents: Reads) -> bool:
    """Return True if one of these mappings has no end. UsageError if one cannot be read."""
    readable = [(mapping, connector_of(mapping)) for mapping in contents.mappings]
    for _, connector in readable:
        if connector.source is None:
            raise UsageError(f"A mapping of TYPE {connector.name} cannot be read")
    return any(connector.streams(mapping) for mapping, connector in readable)


def _is_rows_of_call(node: exp.Expr) -> bool:
    """Return True for the rows of TUMBLE and the like, with or without TABLE(...) around them."""
    call = node.parent
    if not isinstance(call, exp.Anonymous) or not call.expressions or call.expressions[0] is not node:
        return False
    return name_of_call(call) in WINDOWS or (name_of_call(call) == "table" and _is_rows_of_call(call))


def tables_of(query: Query) -> set[str]:
    """Return the names, without a schema, that a query has in FROM."""
    try:
        tree = parse_query(query)
    except UsageError:
        return set()
    return {table.name for table in beyond_ctes(tree) if isinstance(table, exp.Table) and not table.db}


def of_postgres(query: Query) -> bool:
    """Return True for a query on PostgreSQL's own catalogue and functions, which clients of its protocol ask about."""
    try:
        tree = parse_query(query)
    except UsageError:
        # Much of what they ask is no SQL of ours.
        return any(word.startswith("pg_") for word in words_of(query))
    tables = list(tree.find_all(exp.Table))
    if any(str(table.db).lower() == "pg_catalog" or table.name.lower().startswith("pg_") for table in tables):
        return True
    own = {"tables", "schemata", "key_column_usage", "table_constraints"}
    if any(str(table.db).lower() == INFORMATION and table.name.lower() in own for table in tables):
        return True
    calls = {name_of_call(each) for each in tree.walk()}
    return not tables and bool(calls & _OF_A_SESSION)


_OF_A_SESSION = {
    *("version", "current_database", "current_schema", "current_user", "session_user", "pg_backend_pid", "current_setting"),
    *("current_schemas", "set_config"),
}
