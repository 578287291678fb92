"""Types in queries on the catalogue: the casts between them, and texts as PostgreSQL shows them."""

from __future__ import annotations

from pg_mimic import PgError
from sqlglot import exp

from pitstop.pgwire.catalogue.engine import INTEGERS
from pitstop.pgwire.catalogue.scopes import UNKNOWN, Written, name_of, refused

REGISTERED = ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator", "regconfig")
_TEXTS = {"text": "text", "varchar": "character varying", "char": "text", "bpchar": "text", "name": "name"}
_NUMBERS = {"int": "integer", "int4": "integer", "bigint": "bigint", "int8": "bigint", "smallint": "smallint"}
_NUMBERS |= {"int2": "smallint"}
_NUMBERS |= {"oid": "oid", "xid": "xid", "integer": "integer", "uint": "oid"}
_FRACTIONS = {"double": "double precision", "float": "double precision", "real": "real", "decimal": "numeric"}
_FRACTIONS |= {"numeric": "numeric"}


def literal(text: str) -> str:
    """Return a text as a literal of SQLite. PgError if it has a NUL, at which SQLite would cut it."""
    if "\0" in text:
        raise PgError("22021", "invalid byte sequence: a text has no NUL")
    return "'" + text.replace("'", "''") + "'"


def type_named(node: exp.Expr) -> str:
    """Return the type that a cast leads to. PgError if there is none of that name here."""
    if isinstance(node, exp.ObjectIdentifier):
        name = str(node.this).lower()
    elif isinstance(node, exp.DataType):
        if node.this == exp.DataType.Type.ARRAY and node.expressions:
            return array_of(type_named(node.expressions[0]))
        kind = node.args.get("kind") if node.this == exp.DataType.Type.USERDEFINED else None
        kind = kind.expression if isinstance(kind, exp.Dot) else kind
        name = name_of(kind) if isinstance(kind, (exp.Identifier, str)) else str(node.this.value if kind is None else "").lower()
        if isinstance(kind, exp.Identifier) and kind.args.get("quoted") and name == "char":
            return '"char"'
    else:
        raise refused(node)
    if name.endswith("[]"):
        return array_of(name[:-2])
    plain = _TEXTS.get(name) or _NUMBERS.get(name) or _FRACTIONS.get(name) or ("boolean" if name in ("boolean", "bool") else None)
    if plain is not None:
        return plain
    if name in REGISTERED or name in ("int2vector", "oidvector"):
        return name
    if name.startswith(("timestamp", "date", "time", "interval", "json", "uuid")):
        return "text"
    raise PgError("42704", f'The catalogue has no casts to the type "{name[:100]}"')


def array_of(kind: str) -> str:
    """Return the type of an array of values of this type."""
    return ("text" if kind == UNKNOWN else kind) + "[]"


def alike(left_term: Written, right_term: Written) -> tuple[Written, Written]:
    """Make the types of two compared expressions alike: a quoted oid becomes a number if the other side is one."""
    for one, other in ((left_term, right_term), (right_term, left_term)):
        if other.type in INTEGERS and one.type == UNKNOWN and one.sql.startswith("'"):
            into = f"bool_in({one.sql})" if other.type == "boolean" else f"CAST({one.sql} AS INTEGER)"
            converted = Written(into, other.type)
            return (converted, right_term) if one is left_term else (left_term, converted)
    return left_term, right_term


def cast(value: Written, kind: str) -> Written:
    """Write the cast of a value to a type that :func:`type_named` has given."""
    if kind in REGISTERED:
        if value.type in ("oid", *REGISTERED, *_NUMBERS.values()):
            return Written(value.sql, kind)
        return value if value.type == kind else Written(f"reg_in('{kind}', {value.sql})", kind)
    if kind in _NUMBERS.values():
        return Written(f"CAST({value.sql} AS INTEGER)", kind)
    if kind in _FRACTIONS.values():
        return Written(f"CAST({value.sql} AS REAL)", kind)
    if kind == "boolean":
        return Written(f"bool_in({value.sql})", kind)
    if kind.endswith(("[]", "vector")):
        return Written(f"array_in({value.sql})", kind)
    if kind == '"char"':
        return Written(f"substr({as_text(value).sql}, 1, 1)", kind)
    return Written(as_text(value).sql, kind)


def as_text(value: Written) -> Written:
    """Write a value as PostgreSQL shows it."""
    if value.type == "boolean":
        return Written(f"(CASE {value.sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)", "text")
    if value.type in REGISTERED:
        return Written(f"reg_out('{value.type}', {value.sql})", "text")
    if value.type.endswith("[]"):
        return Written(f"array_out({value.sql})", "text")
    if value.type in (UNKNOWN, "text", "name"):
        return value
    return Written(f"CAST({value.sql} AS TEXT)", "text")
