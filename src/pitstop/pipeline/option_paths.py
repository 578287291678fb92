"""Whole paths in options that are passed on to the clients of Kafka, to PostgreSQL's, and to Spark's readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

from pitstop.machine.named_secrets import names_in

Whole = Callable[[str], str]
"""Returns the whole path of one that may count from a folder; it knows what from."""
_NO_FILES = ("", "probe", "system")
"""Values of such options that name no file: librdkafka and libpq then take the authorities that the machine trusts."""
_OF_POSTGRES = re.compile(r"([?&](?:sslcert|sslkey|sslrootcert|sslcrl|sslcrldir|passfile|servicefile)=)([^&#]*)")


def is_kafka_path(name: str) -> bool:
    """Return True for a setting of Kafka's clients, in Java's words or librdkafka's, whose value is the path of a file."""
    return name.lower().endswith((".location", ".keytab"))


def is_reader_path(name: str) -> bool:
    """Return True for an option of Spark's readers of files whose value is a folder."""
    return name.lower() in ("basepath", "sourcearchivedir")


def with_whole_paths(options: Mapping[str, str], is_path: Callable[[str], bool], whole: Whole) -> dict[str, str]:
    """Return the options with whole paths in those whose names are of paths."""
    return {name: _whole(value, whole) if is_path(name) else value for name, value in options.items()}


def whole_postgres_url(url: str, whole: Whole) -> str:
    """Return the URL of a database with the whole paths of its files, such as ``sslrootcert``."""
    return _OF_POSTGRES.sub(lambda option: option[1] + _quoted_whole(option[2], whole), url)


def _quoted_whole(quoted: str, whole: Whole) -> str:
    path = unquote(quoted)
    whole_path = _whole(path, whole)
    return quoted if whole_path == path else quote(whole_path)


def _whole(path: str, whole: Whole) -> str:
    # The file that a secret names is known to the machine's owner alone.
    return path if path in _NO_FILES or any(names_in(path)) else whole(path)
