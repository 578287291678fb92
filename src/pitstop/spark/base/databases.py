"""Words about tables of databases, and their names as SQL."""

from __future__ import annotations

from urllib.parse import urlsplit

from pitstop.machine.named_secrets import is_reference


def sql_name(text: str) -> str:
    """Return a name as SQL."""
    return '"' + text.replace('"', '""') + '"'


def qualified_name(table: str) -> str:
    """Return a table's name, with its schema if it has one (``reports.revenue``), as SQL."""
    schema, _, name = table.rpartition(".")
    return ".".join(sql_name(part) for part in (schema, name) if part)


def table_place(url: str, table: str) -> str:
    """Return the words for a table: where it is, without user and password."""
    if is_reference(url):
        return f"the table '{table}' of {url}"
    address = urlsplit(url)
    hosts = address.netloc.rpartition("@")[2]
    if "{" not in hosts and "," not in hosts:  # no secret names one of them, and there are not several
        hosts = f"{address.hostname}:{address.port or 5432}"
    return f"the table '{table}' of {hosts}{address.path}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its name."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
