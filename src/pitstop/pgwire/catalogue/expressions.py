"""Expressions of PostgreSQL, rewritten for SQLite node by node. Only listed kinds of nodes are allowed."""

from __future__ import annotations

from collections.abc import Callable

from pg_mimic import PgError
from sqlglot import exp

from pitstop.pgwire.catalogue.casts import alike, array_of, as_text, cast, literal, type_named
from pitstop.pgwire.catalogue.engine import INTEGERS, UNKNOWN_FUNCTION
from pitstop.pgwire.catalogue.functions import EXPANDED, TYPES
from pitstop.pgwire.catalogue.scopes import UNKNOWN, Columns, Scope, Written, name_of, refused

Subquery = Callable[[exp.Expr, Scope], tuple[str, Columns]]

_COMPARED: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "IS",
}
_COMPARED |= {exp.NullSafeNEQ: "IS NOT"}
_COMPUTED: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
}
_COMPUTED |= {exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>"}
_CALLED: dict[type[exp.Expr], str] = {
    exp.CurrentVersion: "version",
    exp.CurrentDatabase: "current_database",
    exp.CurrentCatalog: "current_database",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentSchema: "current_schema",
    exp.CurrentSchemas: "current_schemas",
    exp.CurrentTimestamp: "now",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
    exp.Replace: "replace",
    exp.ArrayToString: "array_to_string",
    exp.ArraySize: "array_length",
    exp.StartsWith: "starts_with",
    exp.Left: "left",
    exp.Right: "right",
    exp.SplitPart: "split_part",
}
"""The calls that the parser has a node for. Their arguments are in the order of ``arg_types``."""
_AGGREGATES: dict[type[exp.Expr], str] = {exp.Max: "max", exp.Min: "min", exp.Sum: "sum", exp.Avg: "avg"}
_OF_PARAMETERS = {16: "boolean", 20: "bigint", 21: "smallint", 23: "integer", 26: "oid"}
_WORDS = {"user": "current_user", "current_role": "current_user"}


class Expressions:
    """Writes expressions. ``subquery`` writes a query within an expression."""

    def __init__(self, subquery: Subquery, parameters: list[int | None]) -> None:
        self._subquery, self._parameters = subquery, parameters
        self.parameters = len(parameters)
        """The number of parameters."""

    def write(self, node: exp.Expr, scope: Scope) -> Written:
        """Write an expression. PgError if it is not supported."""
        kind = type(node)
        if kind in _COMPARED:
            return self._comparison(node, scope)
        if kind in _COMPUTED:
            first, second = self.write(node.this, scope), self.write(node.expression, scope)
            types = (first.type, second.type)
            result = "numeric" if "numeric" in types else first.type if first.type in INTEGERS else second.type
            return Written(f"({first.sql} {_COMPUTED[kind]} {second.sql})", result if result != UNKNOWN else "integer")
        if kind in _CALLED:
            values = [node.args.get(each) for each in node.arg_types]
            flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
            return self._call(_CALLED[kind], [each for each in flat if isinstance(each, exp.Expr)], scope)
        write = _WRITERS.get(kind)
        if write is None:
            raise refused(node)
        return write(self, node, scope)

    def text(self, node: exp.Expr, scope: Scope) -> str:
        """Write an expression as a text."""
        return as_text(self.write(node, scope)).sql

    def _column(self, node: exp.Column, scope: Scope) -> Written:
        name, table = name_of(node.this), name_of(node.args.get("table"))
        if not table and not node.this.args.get("quoted") and name in _WORDS:
            return self._call(_WORDS[name], [], scope)
        return scope.column(name, table)

    def _literal(self, node: exp.Literal, scope: Scope) -> Written:
        text = str(node.this)
        if node.is_string:
            return Written(literal(text))
        try:
            whole = int(text)
        except ValueError:
            return Written(repr(float(text)), "numeric")
        if abs(whole) >= 1 << 63:
            raise PgError("22003", "a number is out of range")
        return Written(str(whole), "integer" if abs(whole) < 1 << 31 else "bigint")

    def _parameter(self, node: exp.Parameter, scope: Scope) -> Written:
        number = int(str(node.this.this)) if isinstance(node.this, exp.Literal) and str(node.this.this).isdigit() else 0
        if not 0 < number <= 1000:
            raise refused(node)
        self.parameters = max(self.parameters, number)
        oid = self._parameters[number - 1] if number <= len(self._parameters) else None
        return Written(f"?{number}", _OF_PARAMETERS.get(oid or 0, UNKNOWN))

    def _dot(self, node: exp.Dot, scope: Scope) -> Written:
        if isinstance(node.this, exp.Identifier) and isinstance(node.expression, exp.Func):
            if name_of(node.this) not in ("pg_catalog", "information_schema"):
                raise PgError(UNKNOWN_FUNCTION, f'schema "{name_of(node.this)}" has no functions')
            return self.write(node.expression, scope)
        inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
        if self.write(inner, scope).type == EXPANDED:
            return Written("NULL", "integer")  # of the keys of indexes, of which there are none
        raise refused(node)

    def _anonymous(self, node: exp.Anonymous, scope: Scope) -> Written:
        return self._call(str(node.this).lower(), node.expressions, scope)

    def _call(self, name: str, arguments: list[exp.Expr], scope: Scope) -> Written:
        if name in ("to_char", "date_part") or name not in TYPES:
            raise PgError(UNKNOWN_FUNCTION, f"The catalogue has no function {name[:100]}")
        values = [self.write(each, scope) for each in arguments]
        if name in ("length", "concat", "lower", "upper", "quote_ident", "quote_literal"):
            values = [as_text(each) for each in values]
        return Written(f"{name}({', '.join(each.sql for each in values)})", TYPES[name])

    def _comparison(self, node: exp.Expr, scope: Scope) -> Written:
        sign, other = _COMPARED[type(node)], node.expression
        if isinstance(other, exp.Anonymous) and str(other.this).lower() == "all" and sign == "<>":
            return Written(f"NOT {self._within(node.this, other.expressions[0], scope)}", "boolean")
        if isinstance(other, exp.All) and sign == "<>":
            return Written(f"NOT {self._within(node.this, other.this, scope)}", "boolean")
        if isinstance(other, exp.Any):
            if sign != "=":
                raise refused(other)
            return Written(self._within(node.this, other.this, scope), "boolean")
        left_term, right_term = alike(self.write(node.this, scope), self.write(other, scope))
        return Written(f"({left_term.sql} {sign} {right_term.sql})", "boolean")

    def _within(self, value: exp.Expr, many: exp.Expr, scope: Scope) -> str:
        """Write the test that a value is in an array, or among the rows of a query."""
        inner = many.unnest() if isinstance(many, (exp.Paren, exp.Subquery)) else many
        if isinstance(inner, exp.Query):
            return f"({self.write(value, scope).sql} IN ({self._subquery(inner, scope)[0]}))"
        return f"in_array({self.text(value, scope)}, {self.write(inner, scope).sql})"

    def _logic(self, node: exp.Expr, scope: Scope) -> Written:
        # A chain of hundreds leans to one side.
        sign, parts, pending = "AND" if isinstance(node, exp.And) else "OR", [], [node]
        while pending:
            each = pending.pop()
            if type(each) is type(node):
                pending += [each.expression, each.this]
            else:
                parts.append(self.write(each, scope).sql)
        return Written("(" + f" {sign} ".join(parts) + ")", "boolean")

    def _not(self, node: exp.Not, scope: Scope) -> Written:
        return Written(f"(NOT {self.write(node.this, scope).sql})", "boolean")

    def _is(self, node: exp.Is, scope: Scope) -> Written:
        return Written(f"({self.write(node.this, scope).sql} IS {self.write(node.expression, scope).sql})", "boolean")

    def _in(self, node: exp.In, scope: Scope) -> Written:
        operand = self.write(node.this, scope)
        query = node.args.get("query")
        if query is not None:
            return Written(f"({operand.sql} IN ({self._subquery(query.unnest(), scope)[0]}))", "boolean")
        if node.args.get("unnest") or node.args.get("field"):
            raise refused(node)
        values = [alike(operand, self.write(each, scope))[1].sql for each in node.expressions]
        return Written(f"({operand.sql} IN ({', '.join(values)}))", "boolean")

    def _between(self, node: exp.Between, scope: Scope) -> Written:
        low, high = self.write(node.args["low"], scope), self.write(node.args["high"], scope)
        return Written(f"({self.write(node.this, scope).sql} BETWEEN {low.sql} AND {high.sql})", "boolean")

    def _exists(self, node: exp.Exists, scope: Scope) -> Written:
        return Written(f"(EXISTS ({self._subquery(node.this.unnest(), scope)[0]}))", "boolean")

    def _pattern(self, node: exp.Expr, scope: Scope) -> Written:
        ignoring = isinstance(node, exp.RegexpILike)
        return self._regexp(node.this, node.expression, ignoring, scope)

    def _regexp(self, text: exp.Expr, pattern: exp.Expr, ignoring: bool, scope: Scope) -> Written:
        return Written(f"regexp_is({self.text(text, scope)}, {self.text(pattern, scope)}, {int(ignoring)})", "boolean")

    def _operator(self, node: exp.Operator, scope: Scope) -> Written:
        sign = str(node.args.get("operator", "")).split(".")[-1]
        if sign.lstrip("!") in ("~", "~*"):
            matches = self._regexp(node.this, node.expression, sign.endswith("*"), scope)
            return Written(f"(NOT {matches.sql})", "boolean") if sign.startswith("!") else matches
        if sign in ("=", "<>", "<", ">", "<=", ">="):
            left_term, right_term = alike(self.write(node.this, scope), self.write(node.expression, scope))
            return Written(f"({left_term.sql} {sign} {right_term.sql})", "boolean")
        raise refused(node)

    def _like(self, node: exp.Expr, scope: Scope, escape: str = "'\\'") -> Written:
        ignoring = int(isinstance(node, exp.ILike))
        if isinstance(node.expression, (exp.Any, exp.All)):
            raise refused(node.expression)
        text, pattern = self.text(node.this, scope), self.text(node.expression, scope)
        return Written(f"like_is({text}, {pattern}, {escape}, {ignoring})", "boolean")

    def _escape(self, node: exp.Escape, scope: Scope) -> Written:
        if not isinstance(node.this, (exp.Like, exp.ILike)):
            raise refused(node)
        return self._like(node.this, scope, self.text(node.expression, scope))

    def _joined(self, node: exp.Expr, scope: Scope) -> Written:
        return Written(f"({self.text(node.this, scope)} || {self.text(node.expression, scope)})", "text")

    def _collate(self, node: exp.Collate, scope: Scope) -> Written:
        return self.write(node.this, scope)

    def _paren(self, node: exp.Expr, scope: Scope) -> Written:
        inner = self.write(node.this, scope)
        return Written(f"({inner.sql})", inner.type)

    def _scalar(self, node: exp.Expr, scope: Scope) -> Written:
        sql, columns = self._subquery(node.unnest() if isinstance(node, exp.Subquery) else node, scope)
        return Written(f"({sql})", next(iter(columns.values()), UNKNOWN))

    def _case(self, node: exp.Case, scope: Scope) -> Written:
        subject = self.write(node.this, scope) if node.this is not None else None
        parts, kinds = [subject.sql] if subject is not None else [], []
        for each in node.args.get("ifs") or []:
            condition = self.write(each.this, scope)
            if subject is not None:
                condition = alike(subject, condition)[1]
            value = self.write(each.args["true"], scope)
            parts.append(f"WHEN {condition.sql} THEN {value.sql}")
            kinds.append(value.type)
        default = node.args.get("default")
        if default is not None:
            value = self.write(default, scope)
            parts.append(f"ELSE {value.sql}")
            kinds.append(value.type)
        return Written(f"(CASE {' '.join(parts)} END)", next((each for each in kinds if each != UNKNOWN), "text"))

    def _coalesce(self, node: exp.Coalesce, scope: Scope) -> Written:
        values = [self.write(each, scope) for each in (node.this, *node.expressions)]
        kind = next((each.type for each in values if each.type != UNKNOWN), "text")
        return Written(f"coalesce({', '.join(each.sql for each in values)})" if len(values) > 1 else values[0].sql, kind)

    def _nullif(self, node: exp.Nullif, scope: Scope) -> Written:
        left_term, right_term = alike(self.write(node.this, scope), self.write(node.expression, scope))
        return Written(f"nullif({left_term.sql}, {right_term.sql})", left_term.type)

    def _substring(self, node: exp.Substring, scope: Scope) -> Written:
        parts = [self.text(node.this, scope)]
        parts += [self.write(each, scope).sql for name in ("start", "length") if (each := node.args.get(name)) is not None]
        return Written(f"substr({', '.join(parts)})", "text")

    def _position(self, node: exp.StrPosition, scope: Scope) -> Written:
        return Written(f"strpos({self.text(node.this, scope)}, {self.text(node.args['substr'], scope)})", "integer")

    def _trim(self, node: exp.Trim, scope: Scope) -> Written:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
        parts = [self.text(node.this, scope), *([self.text(node.expression, scope)] if node.expression is not None else [])]
        return Written(f"{name}({', '.join(parts)})", "text")

    def _concat(self, node: exp.Concat, scope: Scope) -> Written:
        return Written(f"concat({', '.join(self.text(each, scope) for each in node.expressions)})", "text")

    def _aggregate(self, node: exp.Expr, scope: Scope) -> Written:
        inner, distinct = node.this, ""
        if isinstance(inner, exp.Distinct):
            (inner,) = inner.expressions
            distinct = "DISTINCT "
        if isinstance(inner, exp.Order):
            inner = inner.this
        if isinstance(node, exp.Count):
            operand = "*" if isinstance(inner, exp.Star) or inner is None else self.write(inner, scope).sql
            return Written(f"count({distinct}{operand})", "bigint")
        if isinstance(node, exp.GroupConcat):
            between = node.args.get("separator")
            separator = f", {self.text(between, scope)}" if between is not None and not distinct else ""
            return Written(f"group_concat({distinct}{self.text(inner, scope)}{separator})", "text")
        value = self.write(inner, scope)
        if isinstance(node, exp.ArrayAgg):
            return Written(f"json_group_array({distinct}{value.sql})", array_of(value.type))
        name = _AGGREGATES[type(node)]
        if node.expressions:
            raise refused(node)
        kind = "bigint" if name == "sum" and value.type in INTEGERS else "numeric" if name == "avg" else value.type
        return Written(f"{name}({distinct}{value.sql})", kind)

    def _filter(self, node: exp.Filter, scope: Scope) -> Written:
        if not isinstance(node.this, exp.AggFunc):
            raise refused(node)
        value = self.write(node.this, scope)
        return Written(f"{value.sql} FILTER (WHERE {self.write(node.expression.this, scope).sql})", value.type)

    def _window(self, node: exp.Window, scope: Scope) -> Written:
        of_rows = isinstance(node.this, exp.RowNumber)
        if node.args.get("spec") or node.args.get("alias") or not (of_rows or isinstance(node.this, exp.AggFunc)):
            raise refused(node)
        value = Written("row_number()", "bigint") if of_rows else self.write(node.this, scope)
        parts = [self.write(each, scope).sql for each in node.args.get("partition_by") or []]
        order = node.args.get("order")
        keys = []
        for each in order.expressions if order is not None else []:
            way = "DESC" if each.args.get("desc") else "ASC"
            keys.append(f"{self.write(each.this, scope).sql} {way}")
        inside = f"PARTITION BY {', '.join(parts)} " * bool(parts) + f"ORDER BY {', '.join(keys)}" * bool(keys)
        return Written(f"{value.sql} OVER ({inside})", value.type)

    def _array(self, node: exp.Array, scope: Scope) -> Written:
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
            sql, columns = self._subquery(node.expressions[0].unnest(), scope)
            name, kind = next(iter(columns.items()))
            return Written(f'(SELECT json_group_array("{name.replace(chr(34), chr(34) * 2)}") FROM ({sql}))', array_of(kind))
        values = [self.write(each, scope) for each in node.expressions]
        kind = next((each.type for each in values if each.type != UNKNOWN), "text")
        return Written(f"array_made({', '.join(each.sql for each in values)})", array_of(kind))

    def _bracket(self, node: exp.Bracket, scope: Scope) -> Written:
        array = self.write(node.this, scope)
        if len(node.expressions) != 1 or not array.type.endswith(("[]", "vector")):
            raise refused(node)
        kind = array.type.removesuffix("[]") if array.type.endswith("[]") else "integer"
        return Written(f"array_at({array.sql}, {self.write(node.expressions[0], scope).sql})", kind)

    def _tuple(self, node: exp.Tuple, scope: Scope) -> Written:
        return Written(f"({', '.join(self.write(each, scope).sql for each in node.expressions)})", "record")

    def _negative(self, node: exp.Neg, scope: Scope) -> Written:
        inner = self.write(node.this, scope)
        return Written(f"(- {inner.sql})", inner.type)

    def _constant(self, node: exp.Expr, scope: Scope) -> Written:
        if isinstance(node, exp.Null):
            return Written("NULL")
        return Written("1" if node.this else "0", "boolean")

    def _text_of_postgres(self, node: exp.Expr, scope: Scope) -> Written:
        return Written(literal(str(node.this)))

    def _cast(self, node: exp.Cast, scope: Scope) -> Written:
        return cast(self.write(node.this, scope), type_named(node.args["to"]))


_WRITERS: dict[type[exp.Expr], Callable[..., Written]] = {
    exp.Column: Expressions._column,
    exp.Literal: Expressions._literal,
    exp.Parameter: Expressions._parameter,
    exp.Dot: Expressions._dot,
    exp.Anonymous: Expressions._anonymous,
    exp.And: Expressions._logic,
    exp.Or: Expressions._logic,
    exp.Not: Expressions._not,
    exp.Is: Expressions._is,
    exp.In: Expressions._in,
    exp.Between: Expressions._between,
    exp.Exists: Expressions._exists,
    exp.RegexpLike: Expressions._pattern,
    exp.RegexpILike: Expressions._pattern,
    exp.Operator: Expressions._operator,
    exp.Like: Expressions._like,
    exp.ILike: Expressions._like,
    exp.Escape: Expressions._escape,
    exp.DPipe: Expressions._joined,
    exp.Collate: Expressions._collate,
    exp.Paren: Expressions._paren,
    exp.Subquery: Expressions._scalar,
    exp.Select: Expressions._scalar,
    exp.Case: Expressions._case,
    exp.Coalesce: Expressions._coalesce,
    exp.Nullif: Expressions._nullif,
    exp.Substring: Expressions._substring,
    exp.StrPosition: Expressions._position,
    exp.Trim: Expressions._trim,
    exp.Concat: Expressions._concat,
    exp.Count: Expressions._aggregate,
    exp.Max: Expressions._aggregate,
    exp.Min: Expressions._aggregate,
    exp.Sum: Expressions._aggregate,
    exp.Avg: Expressions._aggregate,
    exp.GroupConcat: Expressions._aggregate,
    exp.ArrayAgg: Expressions._aggregate,
    exp.Window: Expressions._window,
    exp.Filter: Expressions._filter,
    exp.Array: Expressions._array,
    exp.Bracket: Expressions._bracket,
    exp.Tuple: Expressions._tuple,
    exp.Neg: Expressions._negative,
    exp.Null: Expressions._constant,
    exp.Boolean: Expressions._constant,
    exp.ByteString: Expressions._text_of_postgres,
    exp.RawString: Expressions._text_of_postgres,
    exp.Cast: Expressions._cast,
}
