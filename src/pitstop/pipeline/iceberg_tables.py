"""Iceberg tables as users write them: the name, the properties of the catalog, and the fields that partition a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pitstop.errors import UsageError
from pitstop.kit.secret_words import is_secret
from pitstop.machine.named_secrets import is_reference

OF_CATALOG = "catalog."
"""The beginning of an option that is a property of a catalog."""
_TRANSFORMED = re.compile(r"(?P<name>[A-Za-z]+)\(\s*(?:(?P<width>\d+)\s*,\s*)?(?P<column>.+?)\s*\)")
_OF_TIME = {"year": "year", "month": "month", "day": "day", "hour": "hour"}
_OF_WIDTH = ("bucket", "truncate")


@dataclass(frozen=True)
class PartitionField:
    """A field by which a table is partitioned: a column, or what a transform makes of it."""

    column: str
    transform: str
    """The transform in the words of Iceberg's specification: ``identity``, ``day``, ``bucket[16]``."""


def partition_field(text: str) -> PartitionField:
    """Return the field that a text names: ``column``, ``day(column)``, ``bucket(16, column)``. UsageError if it is none."""
    call = _TRANSFORMED.fullmatch(text.strip())
    if call is None:
        return PartitionField(text.strip(), "identity")
    name, width = call["name"].lower(), call["width"]
    if width is None and name.removesuffix("s") in _OF_TIME:
        return PartitionField(call["column"], name.removesuffix("s"))
    if name in _OF_WIDTH and width is not None and int(width) > 0:
        return PartitionField(call["column"], f"{name}[{width}]")
    raise UsageError(
        f"partition_by has columns, year(c), month(c), day(c), hour(c), bucket(n, c) and truncate(n, c), not {text.strip()!r}."
    )


def check_table_name(table: str) -> None:
    """Raise UsageError unless this names a table with its namespace."""
    if not all(table.split(".")) or "." not in table:
        raise UsageError(f"An Iceberg table is named with its namespace, as in 'shop.orders', not {table!r}.")


def catalog_properties(catalog: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the properties of a catalog, in the order of their names. UsageError if they do not say where it is."""
    properties = {str(name): str(value) for name, value in catalog.items()}
    for name, value in properties.items():
        # They name classes of Python, which would run in the server.
        if name.startswith("py-"):
            raise UsageError(f"catalog= has properties of Iceberg's own catalogs, and {name} is none.")
        if name == "uri" and not is_reference(value):
            _check_uri(value)
        # What stands in code and arguments is kept with each version, and shown.
        if is_secret(name) and not is_reference(value):
            raise UsageError(
                f'catalog= has {name} by the name of a secret, as {{"{name}": "secret:CATALOG"}} (docs/security.md).'
            )
    if "type" not in properties:
        raise UsageError('catalog= says which catalog has the table: {"type": "rest", "uri": "https://...", "warehouse": "..."}.')
    return tuple(sorted(properties.items()))


def _check_uri(uri: str) -> None:
    if uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
        raise UsageError(f"The catalog's uri {uri} is no whole path: write sqlite:////folder/catalog.db, with four slashes.")
    password = urlsplit(uri).password if "@" in uri else None
    if password is not None and "secret:" not in password:
        raise UsageError("The catalog's uri has a password in it: name a secret instead, ${secret:NAME}.")


def partition_fields(partition_by: str | Sequence[str]) -> tuple[PartitionField, ...]:
    """Return the fields that a user has named."""
    return tuple(map(partition_field, (partition_by,) if isinstance(partition_by, str) else partition_by))
