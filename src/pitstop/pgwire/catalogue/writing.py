"""Queries of PostgreSQL on its catalogue, rewritten for SQLite."""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from pg_mimic import PgError
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from pitstop.pgwire.catalogue.engine import CTE, NOT_SUPPORTED, SYNTAX, TOO_MUCH, UNKNOWN_TABLE, quoted
from pitstop.pgwire.catalogue.expressions import Expressions
from pitstop.pgwire.catalogue.scopes import UNKNOWN, Columns, Relation, Scope, Written, name_of, refused
from pitstop.pgwire.catalogue.tables import tables

MOST_LETTERS = 100_000
"""The most letters of a query. Drivers send queries of ten thousand."""
MOST_NESTED = 30
"""The deepest nesting of parentheses."""
MOST_TABLES = 100
_TOO_DEEP = "The query is nested too deeply"
_KEYWORDS = ("analyze", "concurrently", "explain", "ilike", "limit", "notnull", "offset", "returning", "vacuum")
"""The keywords that pg_get_keywords() gives: some that are not in the SQL standards."""


@dataclass(frozen=True)
class Rewritten:
    """A query in SQLite's SQL."""

    sql: str
    columns: tuple[tuple[str, str], ...]
    """The names and PostgreSQL types of the columns."""
    parameters: int


def read(text: str) -> exp.Expr:
    """Parse a text into the tree of one query of PostgreSQL. PgError if it is no query, or too large."""
    if len(text) > MOST_LETTERS:
        raise PgError(TOO_MUCH, f"A query on the catalogue has at most {MOST_LETTERS:,} letters")
    try:
        depth = 0
        for token in Postgres().tokenize(text):
            depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
            if depth > MOST_NESTED:
                raise PgError("54001", _TOO_DEEP)
        trees = [each for each in sqlglot.parse(text, dialect="postgres") if each is not None]
    except SqlglotError as error:
        raise PgError(SYNTAX, f"syntax error: {str(error).splitlines()[0][:300]}") from None
    except RecursionError:
        raise PgError("54001", _TOO_DEEP) from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise PgError(SYNTAX, "Only one query at a time can be asked of the catalogue")
    return trees[0]


def about_catalogue(tree: exp.Expr) -> bool:
    """True if a query reads a table of the catalogue, or none at all."""
    read_ = list(tree.find_all(exp.Table))
    return not read_ or any(str(each.db).lower() in _SCHEMAS or each.name.lower().startswith("pg_") for each in read_)


_SCHEMAS = ("pg_catalog", "information_schema")
_OPENS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE)
_CLOSES = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END)


def rewritten(tree: exp.Expr, parameters: list[int | None]) -> Rewritten:
    """Rewrite a query for SQLite. ``parameters`` holds the oids of their types. PgError if a part is not supported."""
    if sum(1 for _ in tree.find_all(exp.Table)) > MOST_TABLES:
        raise PgError(TOO_MUCH, f"A query on the catalogue names {MOST_TABLES} tables at most")
    writer = _Queries(parameters)
    try:
        sql, columns = writer.query(tree, Scope(), writer.names)
    except RecursionError:
        raise PgError("54001", _TOO_DEEP) from None
    return Rewritten(sql, tuple(zip(writer.names, columns.values(), strict=True)), writer.expressions.parameters)


class _Queries:
    def __init__(self, parameters: list[int | None]) -> None:
        self.expressions = Expressions(self.query, parameters)
        self.names: list[str] = []
        """The names of the columns for the client. Several columns may have one name."""

    def query(self, node: exp.Expr, scope: Scope, names: list[str] | None = None) -> tuple[str, Columns]:
        """Write a query. Return it with the types of its columns, by distinct names."""
        before, scope = self._ctes(node, scope)
        if isinstance(node, exp.Subquery) and not node.alias:
            sql, columns = self.query(node.this, scope, names)
            sql = f"SELECT * FROM ({sql})"
        elif isinstance(node, exp.SetOperation):
            sql, columns = self._set_operation(node, scope, names)
        elif isinstance(node, exp.Select):
            return before + self._select(node, scope, names if names is not None else []), self._last
        elif isinstance(node, exp.Values):
            sql, columns = self._values(node, scope, names)
        else:
            raise refused(node)
        return before + sql + self._end(node, Scope([], scope.ctes), list(columns), {}), columns

    def _ctes(self, node: exp.Expr, scope: Scope) -> tuple[str, Scope]:
        with_ = node.args.get("with_")
        if with_ is None:
            return "", scope
        ctes, parts = dict(scope.ctes), []
        for each in with_.expressions:
            name, own = name_of(each.args["alias"].this), [name_of(column) for column in each.args["alias"].columns]
            inner = each.this
            if with_.args.get("recursive") and isinstance(inner, exp.SetOperation):
                first = self.query(inner.this, Scope([], ctes, scope.around))[1]
                ctes[name] = _renamed(first, own)
            sql, columns = self.query(inner, Scope([], ctes, scope.around))
            ctes[name] = _renamed(columns, own)
            column_list = ", ".join(quoted(column) for column in ctes[name])
            parts.append(f"{quoted(CTE + name)}({column_list}) AS ({sql})")
        word = "WITH RECURSIVE " if with_.args.get("recursive") else "WITH "
        return word + ", ".join(parts) + " ", Scope(scope.relations, ctes, scope.around)

    def _set_operation(self, node: exp.SetOperation, scope: Scope, names: list[str] | None) -> tuple[str, Columns]:
        arms: list[tuple[str, exp.Expr]] = []
        tree: exp.Expr = node
        while isinstance(tree, exp.SetOperation) and not (tree is not node and _has_end(tree)):
            word = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}[type(tree)]
            every = " ALL" if not tree.args.get("distinct") else ""
            if every and word != "UNION":
                raise refused(tree)
            arms.append((word + every, tree.expression))
            tree = tree.this
        sql, columns = self.query(tree, scope, names)
        sql = _alone(sql, tree)
        for word, arm in reversed(arms):
            other, further = self.query(arm, scope)
            if len(further) != len(columns):
                raise PgError(SYNTAX, "each UNION query must have the same number of columns")
            sql += f" {word} {_alone(other, arm)}"
            pairs = zip(columns.items(), further.values(), strict=True)
            columns = {name: kind if kind != UNKNOWN else other_kind for (name, kind), other_kind in pairs}
        return sql, columns

    def _values(self, node: exp.Values, scope: Scope, names: list[str] | None) -> tuple[str, Columns]:
        rows = [[self.expressions.write(each, scope) for each in row.expressions] for row in node.expressions]
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            raise PgError(SYNTAX, "VALUES lists must all be the same length")
        columns = {f"column{number}": each.type for number, each in enumerate(rows[0], 1)}
        if names is not None:
            names += columns
        arms = [", ".join(f"{each.sql} AS {quoted(name)}" for each, name in zip(row, columns, strict=True)) for row in rows]
        return " UNION ALL ".join(f"SELECT {arm}" for arm in arms), columns

    def _select(self, node: exp.Select, scope: Scope, names: list[str]) -> str:
        for name in node.args:
            if node.args[name] and name not in _OF_SELECT:
                raise refused(node, f"The catalogue does not answer queries with {name.upper().rstrip('_')}")
        inner = Scope([], scope.ctes, Scope(scope.relations, scope.ctes, scope.around) if scope.relations else scope.around)
        source = self._from(node, inner)
        columns: Columns = {}
        selection: list[str] = []
        by_name: dict[str, int] = {}
        for each in node.expressions:
            for name, value in self._projected(each, inner):
                names.append(name)
                by_name.setdefault(name, len(names))
                unique = name
                while unique.lower() in map(str.lower, columns):
                    unique += "_"
                columns[unique] = value.type
                selection.append(f"{value.sql} AS {quoted(unique)}")
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise refused(distinct, "The catalogue does not answer DISTINCT ON")
        sql = f"SELECT {'DISTINCT ' if distinct is not None else ''}{', '.join(selection) or 'NULL'}{source}"
        if where := node.args.get("where"):
            sql += f" WHERE {self.expressions.write(where.this, inner).sql}"
        if group := node.args.get("group"):
            if any(value for name, value in group.args.items() if name != "expressions"):
                raise refused(group)
            sql += f" GROUP BY {', '.join(self._key(each, inner, by_name, len(selection)) for each in group.expressions)}"
        if having := node.args.get("having"):
            sql += f" HAVING {self.expressions.write(having.this, inner).sql}"
        sql += self._end(node, inner, names, by_name)
        self._last = columns
        return sql

    def _projected(self, node: exp.Expr, scope: Scope) -> list[tuple[str, Written]]:
        if isinstance(node, exp.Star):
            return [(name, scope.column(name, each.alias)) for each in scope.relations for name in each.columns]
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            table = name_of(node.args.get("table"))
            return [(name, scope.column(name, table)) for each in scope.relations if each.alias == table for name in each.columns]
        alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
        value = self.expressions.write(node.this if isinstance(node, exp.Alias) else node, scope)
        return [(name_of(alias) if alias is not None else _column_name(node), value)]

    def _end(self, node: exp.Expr, scope: Scope, names: list[str], by_name: dict[str, int]) -> str:
        """Write ORDER BY, LIMIT and OFFSET."""
        by_name = by_name or {name: number for number, name in reversed(list(enumerate(names, 1)))}
        sql = ""
        if order := node.args.get("order"):
            keys = []
            for each in order.expressions:
                inner = each.this if isinstance(each, exp.Ordered) else each
                down = isinstance(each, exp.Ordered) and bool(each.args.get("desc"))
                first = each.args.get("nulls_first") if isinstance(each, exp.Ordered) else None
                place = "FIRST" if (first if first is not None else down) else "LAST"
                keys.append(f"{self._key(inner, scope, by_name, len(names))} {'DESC' if down else 'ASC'} NULLS {place}")
            sql += f" ORDER BY {', '.join(keys)}"
        limit, offset = node.args.get("limit"), node.args.get("offset")
        if limit is not None:
            count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
            sql += f" LIMIT {self._count(count)}"
        if offset is not None:
            sql += f"{'' if limit is not None else ' LIMIT -1'} OFFSET {self._count(offset.expression)}"
        return sql

    def _count(self, node: exp.Expr | None) -> str:
        if isinstance(node, exp.Null) or (isinstance(node, exp.Column) and node.name.lower() == "all"):
            return "-1"
        if node is None:
            return "1"
        return f"CAST({self.expressions.write(node, Scope()).sql} AS INTEGER)"

    def _key(self, node: exp.Expr, scope: Scope, by_name: dict[str, int], count: int) -> str:
        """Write a key of ORDER BY or GROUP BY: a column of the result by its number or name, or any expression."""
        if isinstance(node, exp.Literal) and not node.is_string:
            if not (str(node.this).isdigit() and 0 < int(str(node.this)) <= count):
                raise PgError("42P10", f"ORDER BY position {str(node.this)[:20]} is not in select list")
            return str(int(str(node.this)))
        if isinstance(node, exp.Column) and not node.args.get("table"):
            number = by_name.get(name_of(node.this))
            if number is not None:
                return str(number)
        return self.expressions.write(node, scope).sql

    def _from(self, node: exp.Expr, scope: Scope) -> str:
        source = node.args.get("from_")
        if source is None:
            return ""
        return f" FROM {self._source(source.this, scope)}{self._joins(node, scope)}"

    def _joins(self, node: exp.Expr, scope: Scope) -> str:
        sql = ""
        for each in node.args.get("joins") or []:
            side, kind, method = (str(each.args.get(name) or "").upper() for name in ("side", "kind", "method"))
            if method or kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT", "FULL"):
                raise refused(each)
            right = self._source(each.this, scope)
            on, using = each.args.get("on"), each.args.get("using")
            word = "CROSS JOIN" if not side and on is None and not using else f"{side} JOIN".strip()
            sql += f" {word} {right}"
            if on is not None:
                sql += f" ON {self.expressions.write(on, scope).sql}"
            elif using:
                names = (name if isinstance(name, exp.Identifier) else name.this for name in using)
                sql += f" USING ({', '.join(quoted(name_of(name)) for name in names)})"
        return sql

    def _source(self, node: exp.Expr, scope: Scope) -> str:
        """Write a source in FROM, and add its columns to the scope."""
        alias = node.args.get("alias")
        name = name_of(alias.this) if alias is not None and alias.this is not None else ""
        own = [name_of(column) for column in alias.columns] if alias is not None else []
        oid = None
        if isinstance(node, exp.Lateral):
            node = node.this
        if isinstance(node, (exp.Paren, exp.Subquery)) and isinstance(node.this, exp.Table) and not name:
            return f"({self._source(node.this, scope)}{self._joins(node, scope)})"
        if isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Query, exp.Values)):
            sql, columns = self.query(node.this, Scope([], scope.ctes, scope.around))
            sql = f"({sql})"
        elif isinstance(node, exp.Values):
            sql, columns = self._values(node, Scope([], scope.ctes, scope.around), None)
            sql = f"({sql})"
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            sql, columns, table, oid = self._table(node, scope)
            name = name or table
        elif isinstance(node, (exp.Table, exp.Unnest, exp.Explode, exp.Anonymous)):
            sql, columns, table = self._call(node, name, Scope([], scope.ctes, scope.around))
            name = name or table
        else:
            raise refused(node)
        new_names = _renamed(columns, own)
        if own or name not in ("", None):
            renamed = own and list(new_names) != list(columns)
            if renamed:
                pairs = ", ".join(f"{quoted(old)} AS {quoted(new)}" for old, new in zip(columns, new_names, strict=True))
                sql = f"(SELECT {pairs} FROM {sql})"
        name = name or f"unnamed {len(scope.relations)}"
        if any(each.alias.lower() == name.lower() for each in scope.relations):
            raise PgError("42712", f'table name "{name}" specified more than once')
        scope.relations.append(Relation(name, new_names, oid))
        nested = self._joins(node, scope) if isinstance(node, exp.Table) else ""
        return f"{sql} AS {quoted(name)}{nested}"

    def _table(self, node: exp.Table, scope: Scope) -> tuple[str, Columns, str, int | None]:
        for each in node.args:
            if node.args[each] and each not in ("this", "db", "catalog", "alias", "joins", "only"):
                raise refused(node, f"The catalogue does not answer {each} of a table")
        name, schema = name_of(node.this), name_of(node.args.get("db"))
        if not schema and name in scope.ctes:
            return quoted(CTE + name), scope.ctes[name], name, None
        table = tables().get((schema or "pg_catalog", name))
        if table is None:
            raise PgError(UNKNOWN_TABLE, f'relation "{schema + "." if schema else ""}{name}" does not exist in the catalogue')
        return quoted(table.inside), table.columns, name, table.oid

    def _call(self, node: exp.Expr, alias: str, scope: Scope) -> tuple[str, Columns, str]:
        """Write the rows of a function: numbers, elements of arrays in columns, which are all empty here, or keywords."""
        call = node.this if isinstance(node, exp.Table) else node
        if isinstance(call, (exp.Explode, exp.Unnest)):
            arrays = [call.this] if isinstance(call, exp.Explode) else call.expressions
            if len(arrays) == 1 and isinstance(arrays[0], exp.Column):
                name = alias or "unnest"
                return f"(SELECT NULL AS {quoted(name)} LIMIT 0)", {name: "text"}, name
        elif isinstance(call, (exp.ExplodingGenerateSeries, exp.GenerateSeries)) and call.args.get("step") is None:
            name = alias or "generate_series"
            first, last = (self.expressions.write(call.args[each], scope).sql for each in ("start", "end"))
            own = quoted(CTE + "numbers")
            numbers = f"SELECT {first} WHERE {first} <= {last} UNION ALL SELECT number + 1 FROM {own} WHERE number < {last}"
            sql = f"(WITH RECURSIVE {own}(number) AS ({numbers}) SELECT number AS {quoted(name)} FROM {own})"
            return sql, {name: "integer"}, name
        elif isinstance(call, exp.Anonymous) and str(call.this).lower() == "pg_get_keywords":
            arms = (f"SELECT '{word}' AS word, 'R' AS catcode, 'reserved' AS catdesc" for word in _KEYWORDS)
            columns = {"word": "text", "catcode": '"char"', "catdesc": "text"}
            return f"({' UNION ALL '.join(arms)})", columns, "pg_get_keywords"
        raise PgError(NOT_SUPPORTED, "The catalogue does not answer queries on rows of this function")


_OF_SELECT = ("with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct")


def _has_end(node: exp.Expr) -> bool:
    return any(node.args.get(each) for each in ("order", "limit", "offset", "with_"))


def _alone(sql: str, node: exp.Expr) -> str:
    """Wrap an arm of a UNION that has its own WITH, ORDER BY or LIMIT, or is a set operation or VALUES."""
    return f"SELECT * FROM ({sql})" if _has_end(node) or isinstance(node, (exp.SetOperation, exp.Values)) else sql


def _renamed(columns: Columns, own: list[str]) -> Columns:
    """Return the types with the first columns renamed by an alias. PgError if the alias has more names than there are columns."""
    if len(own) > len(columns):
        raise PgError("42P10", f"the alias names {len(own)} columns, and there are {len(columns)}")
    names = [*own, *list(columns)[len(own) :]]
    return dict(zip(names, columns.values(), strict=True))


_NAMED: dict[type[exp.Expr], str] = {
    exp.CurrentVersion: "version",
    exp.CurrentDatabase: "current_database",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentSchema: "current_schema",
    exp.CurrentSchemas: "current_schemas",
    exp.CurrentTimestamp: "now",
    exp.Case: "case",
    exp.Exists: "exists",
    exp.Array: "array",
    exp.GroupConcat: "string_agg",
    exp.ArrayAgg: "array_agg",
    exp.Boolean: "bool",
}


def _column_name(node: exp.Expr) -> str:
    """Return the name of a column without an alias."""
    if isinstance(node, exp.Column):
        return name_of(node.this)
    if isinstance(node, (exp.Cast, exp.Paren, exp.Collate, exp.Bracket, exp.Filter)):
        inner = _column_name(node.this)
        if inner == "?column?" and isinstance(node, exp.Cast):
            return str(node.args["to"].this.value if isinstance(node.args["to"].this, exp.DataType.Type) else "?column?").lower()
        return inner
    if isinstance(node, exp.Dot):
        return _column_name(node.expression) if isinstance(node.expression, exp.Func) else name_of(node.expression)
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select) and len(node.this.expressions) == 1:
        each = node.this.expressions[0]
        return name_of(each.args["alias"]) if isinstance(each, exp.Alias) else _column_name(each)
    if type(node) in _NAMED:
        return _NAMED[type(node)]
    if isinstance(node, exp.Func) and not isinstance(node, (exp.And, exp.Or)):
        return node.sql_name().lower()
    return "?column?"
