"""The settings of a client's connection, and the statements about it: SET, RESET, SHOW, BEGIN and the like."""

from __future__ import annotations

import re
from typing import Any

from pg_mimic import PgError

MOST = 200
"""The most settings of a connection."""
MOST_LETTERS = 10_000
"""The most letters in the value of a setting."""
_NO_SUCH = 'unrecognized configuration parameter "{}"'


class Settings:
    """The settings of one connection. Nothing depends on them: clients only read back what they have set."""

    def __init__(self, version: str) -> None:
        self._usual = {
            "server_version": version,
            "server_version_num": "160000",
            "server_encoding": "UTF8",
            "client_encoding": "UTF8",
            "timezone": "UTC",
            "datestyle": "ISO, MDY",
            "intervalstyle": "postgres",
            "integer_datetimes": "on",
            "search_path": '"$user", public',
            "standard_conforming_strings": "on",
            "is_superuser": "off",
            "jit": "off",
            "transaction_isolation": "read committed",
            "default_transaction_isolation": "read committed",
            "transaction_read_only": "off",
            "default_transaction_read_only": "off",
            "max_index_keys": "32",
            "max_identifier_length": "63",
            "application_name": "",
            "extra_float_digits": "1",
            "statement_timeout": "0",
            "lock_timeout": "0",
            "idle_in_transaction_session_timeout": "0",
            "bytea_output": "hex",
            "escape_string_warning": "on",
            "client_min_messages": "notice",
            "row_security": "on",
            "lc_collate": "C",
            "lc_ctype": "C",
            "lc_messages": "C",
            "lc_monetary": "C",
            "lc_numeric": "C",
            "lc_time": "C",
            "default_tablespace": "",
            "default_table_access_method": "heap",
            "block_size": "8192",
            "wal_level": "minimal",
        }
        self._own: dict[str, str] = {}

    def all(self) -> tuple[tuple[str, str], ...]:
        """Return all names and values, sorted by name."""
        return tuple(sorted((self._usual | self._own).items()))

    def current(self, name: Any, missing: Any = 0) -> str | None:
        """Return the value of a setting; None if there is none and ``missing`` is true, else PgError."""
        key = str(name).lower()
        value = self._own.get(key, self._usual.get(key))
        if value is None and not missing:
            raise PgError("42704", _NO_SUCH.format(key[:100]))
        return value

    def put(self, name: Any, value: Any, local: Any = 0) -> str:
        """Set a setting, and return its value. None takes it back."""
        key = str(name).lower()
        if value is None:
            self._own.pop(key, None)
            return self.current(key, 1) or ""
        if len(self._own) >= MOST or len(key) > 200 or len(str(value)) > MOST_LETTERS:
            raise PgError("54000", f"A connection has {MOST} settings of {MOST_LETTERS:,} letters at most")
        self._own[key] = str(value)
        return self._own[key]

    def reset(self) -> None:
        """Take all settings back."""
        self._own.clear()


_NAME = r'("?[\w.]+"?)'
_BEGIN = re.compile(r"(BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_END = re.compile(r"(COMMIT|END|ROLLBACK|ABORT)\b(?!\s+(TO|PREPARED))", re.IGNORECASE)
_SET = re.compile(rf"SET\s+(?:SESSION\s+|LOCAL\s+)?{_NAME}\s*(?:TO\b|=)\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_ZONE = re.compile(r"SET\s+(?:SESSION\s+|LOCAL\s+)?TIME\s+ZONE\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_MODE = re.compile(r"SET\s+(?:SESSION\s+CHARACTERISTICS\s+AS\s+)?TRANSACTION\b", re.IGNORECASE)
_RESET = re.compile(rf"RESET\s+{_NAME}", re.IGNORECASE)
_SHOW = re.compile(rf"SHOW\s+{_NAME}", re.IGNORECASE)
_ALSO = {("transaction", "isolation", "level"): "transaction_isolation", ("time", "zone"): "timezone"}


def said(text: str) -> tuple[str, str, str | None] | None:
    """Return (verb, name, value) of a statement about the connection: BEGIN, END, SET, RESET or SHOW; None for any other."""
    text = text.strip().rstrip(";").rstrip()
    if _BEGIN.match(text):
        return "BEGIN", "", None
    if _END.match(text):
        return "END", text.split()[0].upper(), None
    if _MODE.match(text):
        return "SET", "transaction", ""
    if zone := _ZONE.fullmatch(text):
        return "SET", "timezone", _value(zone[1])
    if assignment := _SET.fullmatch(text):
        return "SET", _name(assignment[1]), _value(assignment[2])
    if back := _RESET.fullmatch(text):
        return "RESET", _name(back[1]), None
    words = tuple(text.lower().split())
    if words[:1] == ("show",) and words[1:] in _ALSO:
        return "SHOW", _ALSO[words[1:]], None
    if question := _SHOW.fullmatch(text):
        return "SHOW", _name(question[1]), None
    return None


def _name(text: str) -> str:
    return text.strip('"').lower()


def _value(text: str) -> str | None:
    text = text.strip()
    if text.upper() == "DEFAULT":
        return None
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
