"""The functions of PostgreSQL that catalogue queries may call, each with the type of its result."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from pg_mimic import PgError

from pitstop.pgwire.catalogue import patterns
from pitstop.pgwire.catalogue.engine import UNKNOWN_TABLE, WRONG_PATTERN, WRONG_VALUE
from pitstop.pgwire.catalogue.tables import ARRAY_IN, OWNER, World, class_oids, tables, type_oids, types
from pitstop.pgwire.settings import Settings

PLAIN = frozenset(
    {
        *("coalesce", "count", "max", "min", "sum", "avg", "total", "lower", "upper", "length", "abs", "round", "nullif"),
        *(
            "replace",
            "substr",
            "trim",
            "ltrim",
            "rtrim",
            "instr",
            "group_concat",
            "json_group_array",
            "row_number",
            "rank",
            "dense_rank",
        ),
    }
)
"""The functions of SQLite that a query may call."""

_TRUE = (
    *("pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible", "pg_operator_is_visible", "pg_collation_is_visible"),
    *("pg_conversion_is_visible", "pg_statistics_obj_is_visible", "pg_opclass_is_visible", "pg_opfamily_is_visible"),
    *("has_table_privilege", "has_schema_privilege", "has_database_privilege", "has_column_privilege"),
    "has_any_column_privilege",
    *("has_function_privilege", "has_sequence_privilege", "has_type_privilege", "has_tablespace_privilege", "pg_has_role"),
    *("pg_ts_config_is_visible", "pg_ts_dict_is_visible", "pg_ts_parser_is_visible", "pg_ts_template_is_visible"),
    *("has_language_privilege", "has_server_privilege", "has_foreign_data_wrapper_privilege"),
)
"""The functions that are always true: all objects can be seen and read by any client with the token."""
_FALSE = (
    *("pg_relation_is_publishable", "pg_is_in_recovery", "pg_is_other_temp_schema", "pg_column_is_updatable"),
    "row_security_active",
)
_NOTHING = (
    *("pg_get_expr", "pg_get_constraintdef", "pg_get_indexdef", "pg_get_ruledef", "pg_get_viewdef", "pg_get_triggerdef"),
    *("pg_get_partkeydef", "pg_get_functiondef", "pg_get_function_result", "pg_get_function_arguments", "pg_get_serial_sequence"),
    *("pg_get_function_identity_arguments", "pg_get_statisticsobjdef_columns", "obj_description", "col_description"),
    *("shobj_description", "pg_tablespace_location", "inet_server_addr", "inet_client_addr", "pg_get_statisticsobjdef"),
    *("pg_relation_filepath", "acldefault", "pg_get_function_sqlbody", "_pg_expandarray", "pg_get_replica_identity_index"),
)
"""The functions that are always NULL: no table has defaults, constraints, indexes, comments and the like."""
_ZERO = (
    *("pg_relation_size", "pg_total_relation_size", "pg_table_size", "pg_indexes_size", "pg_database_size", "pg_tablespace_size"),
    *("pg_my_temp_schema", "pg_relation_is_updatable", "pg_stat_get_numscans", "txid_current", "inet_server_port"),
)

EXPANDED = "expanded"
"""The type of a row with a number and an element."""
TYPES: dict[str, str] = {
    **dict.fromkeys((*_TRUE, *_FALSE, "starts_with"), "boolean"),
    **dict.fromkeys(_NOTHING, "text"),
    **dict.fromkeys(_ZERO, "bigint"),
    **dict.fromkeys(("lower", "upper", "replace", "ltrim", "rtrim", "concat", "left", "right", "split_part", "btrim"), "text"),
    **dict.fromkeys(("version", "format", "current_setting", "set_config", "format_type"), "text"),
    **dict.fromkeys(("quote_ident", "quote_literal"), "text"),
    **dict.fromkeys(("pg_size_pretty", "pg_encoding_to_char", "getdatabaseencoding", "pg_client_encoding"), "text"),
    **dict.fromkeys(("current_database", "current_schema", "current_user", "session_user", "pg_get_userbyid"), "name"),
    **dict.fromkeys(("length", "char_length", "array_length", "array_upper", "cardinality", "strpos"), "integer"),
    **dict.fromkeys(("pg_char_to_encoding", "array_position", "pg_backend_pid"), "integer"),
    "array_to_string": "text",
    "_pg_expandarray": EXPANDED,
    "current_schemas": "name[]",
    "to_regclass": "regclass",
    "to_regtype": "regtype",
    "to_regnamespace": "regnamespace",
    "now": "timestamp with time zone",
    "pg_postmaster_start_time": "timestamp with time zone",
}
"""The functions that clients may call by name, each with the type of its result."""


def functions(world: World, settings: Settings, version: str, pid: int) -> dict[str, Callable[..., Any]]:
    """Return the implementation of each function, and of those that rewritten queries need besides."""
    start = _moment()
    registered = _Registered(world)
    constants: dict[str, Callable[..., Any]] = {}
    for names, value in ((_TRUE, 1), (_FALSE, 0), (_NOTHING, None), (_ZERO, 0)):
        constants |= dict.fromkeys(names, _always(value))
    return constants | {
        "pg_table_is_visible": lambda oid: oid not in _hidden(),
        "version": _always(f"PostgreSQL {version}"),
        "current_database": _always(world.database),
        "current_schema": _always("public"),
        "current_schemas": lambda implicit: json.dumps(["pg_catalog", "public"] if implicit else ["public"]),
        "current_user": _always(world.user),
        "session_user": _always(world.user),
        "pg_get_userbyid": lambda oid: world.user if oid == OWNER else f"unknown (OID={oid})",
        "pg_backend_pid": _always(pid),
        "current_setting": settings.current,
        "set_config": settings.put,
        "now": lambda: _moment(),
        "pg_postmaster_start_time": _always(start),
        "format_type": format_type,
        "pg_encoding_to_char": _always("UTF8"),
        "pg_char_to_encoding": _always(6),
        "getdatabaseencoding": _always("UTF8"),
        "pg_client_encoding": _always("UTF8"),
        "pg_size_pretty": _strict(lambda size: f"{size} bytes"),
        "quote_ident": _strict(_quote_ident),
        "quote_literal": _strict(lambda text: "'" + str(text).replace("'", "''") + "'"),
        "char_length": _strict(lambda text: len(_text(text))),
        "strpos": _strict(lambda text, part: _text(text).find(_text(part)) + 1),
        "starts_with": _strict(lambda text, part: _text(text).startswith(_text(part))),
        "left": _strict(lambda text, count: _text(text)[:count]),
        "right": _strict(lambda text, count: _text(text)[-count:] if count > 0 else _text(text)[-count:] if count else ""),
        "split_part": _strict(_split_part),
        "btrim": _strict(lambda text, letters=" ": _text(text).strip(_text(letters))),
        "format": _format,
        "concat": lambda *parts: "".join(_text(each) for each in parts if each is not None),
        "array_to_string": _strict(_array_to_string),
        "array_length": _strict(lambda array, dimension=1: len(_array(array)) or None),
        "array_upper": _strict(lambda array, dimension=1: len(_array(array)) or None),
        "cardinality": _strict(lambda array: len(_array(array))),
        "array_position": _strict(_array_position),
        "to_regclass": lambda name: registered.oid("regclass", name, missing=True),
        "to_regtype": lambda name: registered.oid("regtype", name, missing=True),
        "to_regnamespace": lambda name: registered.oid("regnamespace", name, missing=True),
        # Only for rewritten queries: no client can call these by name.
        "in_array": _strict(lambda value, array: _text(value) in _texts(array)),
        "array_in": _strict(lambda array: json.dumps(_array(array))),
        "array_out": _strict(lambda array: array_literal(_array(array))),
        "array_at": _strict(lambda array, at: next(iter(_array(array)[at : at + 1]), None) if at >= 0 else None),
        "array_made": lambda *values: json.dumps(values),
        "bool_in": _strict(_bool_in),
        "reg_in": lambda kind, name: registered.oid(kind, name),
        "reg_out": lambda kind, oid: registered.name(kind, oid),
        "regexp_is": _strict(_matches),
        "like_is": _strict(_like),
    }


class _Registered:
    """Objects by name and by oid, as for regclass and the like."""

    def __init__(self, world: World) -> None:
        self._oids = {
            "regclass": class_oids(world),
            "regtype": type_oids(),
            "regnamespace": {"pg_catalog": 11, "public": 2200, "information_schema": 13000},
            "regrole": {world.user: OWNER},
            "regproc": {"array_in": ARRAY_IN},
        }
        self._names = {kind: {oid: name for name, oid in oids.items()} for kind, oids in self._oids.items()}

    def oid(self, kind: str, name: Any, missing: bool = False) -> int | None:
        if name is None or isinstance(name, int):
            return name
        text = str(name).strip()
        if text.lstrip("-").isdigit():
            return int(text)
        bare = text.removeprefix("pg_catalog.").removeprefix("public.")
        plain = bare[1:-1].replace('""', '"') if bare.startswith('"') and bare.endswith('"') and len(bare) > 1 else bare.lower()
        oid = self._oids.get(kind, {}).get(plain)
        if oid is None and not missing:
            code = UNKNOWN_TABLE if kind == "regclass" else "42704"
            raise PgError(code, f'{_CALLED.get(kind, "object")} "{text[:200]}" does not exist')
        return oid

    def name(self, kind: str, oid: Any) -> str | None:
        if oid is None:
            return None
        if isinstance(oid, str):
            return oid
        return "-" if oid == 0 else self._names.get(kind, {}).get(oid, str(oid))


@functools.cache
def _hidden() -> frozenset[int]:
    """Return the oids of tables that need the name of their schema."""
    return frozenset(each.oid for each in tables().values() if each.schema == "information_schema")


_CALLED = {"regclass": "relation", "regtype": "type", "regnamespace": "schema", "regrole": "role"}


def format_type(oid: Any, modifier: Any = None) -> str | None:
    """Return the name of a type in SQL."""
    if oid is None:
        return None
    type_ = types().get(int(oid))
    return type_.name if type_ is not None else "-" if oid == 0 else "???"


def array_literal(values: list[Any]) -> str:
    """Return an array in PostgreSQL's form."""
    return "{" + ",".join(_element(each) for each in values) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    text = _text(value)
    plain = text and not any(letter in '{},"\\' or letter.isspace() for letter in text) and text.upper() != "NULL"
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _array(text: Any) -> list[Any]:
    """Read an array from our own JSON, or from PostgreSQL's {...}."""
    literal = _text(text).strip()
    if literal.startswith("["):
        array = json.loads(literal)
        return array if isinstance(array, list) else []
    if not (literal.startswith("{") and literal.endswith("}")):
        raise PgError(WRONG_VALUE, "malformed array literal: it begins with { and ends with }")
    values: list[Any] = []
    part, quoted, at, inner = "", False, 0, literal[1:-1]
    while at <= len(inner):
        letter = inner[at : at + 1]
        if letter == '"' and not quoted:
            at += 1
            quoted = True
            while at < len(inner) and inner[at] != '"':
                at += inner[at] == "\\"
                part += inner[at : at + 1]
                at += 1
        elif letter in ("", ","):
            if part or quoted or inner:
                values.append(part if quoted else None if part.strip().upper() == "NULL" else part.strip())
            part, quoted = "", False
        else:
            part += letter
        at += 1
    return values


def _texts(array: Any) -> list[str | None]:
    return [None if each is None else _text(each) for each in _array(array)]


def _array_to_string(array: Any, separator: Any, missing: Any = None) -> str:
    parts = (missing if each is None else each for each in _texts(array))
    return _text(separator).join(_text(each) for each in parts if each is not None)


def _array_position(array: Any, value: Any) -> int | None:
    return next((at for at, each in enumerate(_texts(array), 1) if each == _text(value)), None)


def _bool_in(value: Any) -> int:
    if isinstance(value, (int, float)):
        return int(value != 0)
    text = str(value).strip().lower()
    if text in ("t", "true", "y", "yes", "on", "1"):
        return 1
    if text in ("f", "false", "n", "no", "off", "0"):
        return 0
    raise PgError("22P02", f'invalid input syntax for type boolean: "{text[:100]}"')


def _matches(text: Any, pattern: Any, ignore_case: Any = 0) -> bool:
    try:
        return patterns.matches(_text(pattern), _text(text), bool(ignore_case))
    except patterns.PatternError as error:
        raise PgError(WRONG_PATTERN, f"invalid regular expression: {error}") from None


def _like(text: Any, pattern: Any, escape: Any, ignore_case: Any = 0) -> bool:
    letters, form = _text(text), _text(pattern)
    if ignore_case:
        letters, form = letters.lower(), form.lower()
    try:
        return patterns.like(form, letters, _text(escape))
    except patterns.PatternError as error:
        raise PgError(WRONG_PATTERN, str(error)) from None


def _quote_ident(name: Any) -> str:
    text = _text(name)
    plain = re.fullmatch("[a-z_][a-z0-9_]*", text)
    return text if plain else '"' + text.replace('"', '""') + '"'


def _format(template: Any, *values: Any) -> str | None:
    if template is None:
        return None
    arguments = iter(values)
    parts = re.split(r"(%[%sIL])", _text(template))
    return "".join(_formatted(each, arguments) if each in _SIGNS else each for each in parts)


_SIGNS = ("%%", "%s", "%I", "%L")


def _formatted(sign: str, arguments: Iterator[Any]) -> str:
    if sign == "%%":
        return "%"
    value = next(arguments, None)
    if sign == "%L":
        return "NULL" if value is None else "'" + _text(value).replace("'", "''") + "'"
    text = "" if value is None else _text(value)
    return _quote_ident(text) if sign == "%I" else text


def _split_part(text: Any, separator: Any, number: Any) -> str:
    parts = _text(text).split(_text(separator)) if separator else [_text(text)]
    return parts[number - 1] if 0 < number <= len(parts) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives NULL if an argument is NULL, and else calls ``function``."""
    return lambda *values: None if any(each is None for each in values) else function(*values)


def _moment() -> str:
    return datetime.now(UTC).isoformat(sep=" ")
