"""Iceberg tables as mappings, which jobs write."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AnyMapping

from pitstop.errors import UsageError
from pitstop.pipeline import sinks
from pitstop.pipeline.iceberg_tables import partition_field
from pitstop.pipeline.sink import Sink
from pitstop.sql.mappings import Mapping

_PREFIX = "catalog."
_PROPERTIES = (
    *("name", "type", "uri", "warehouse", "token", "credential", "scope", "oauth2-server-uri"),
    *("s3.endpoint", "s3.region", "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.force-virtual-addressing"),
    *("gcs.project-id", "gcs.oauth2.token", "adls.account-name", "adls.account-key", "adls.sas-token"),
)
"""The properties of a catalog that a mapping can give."""
CATALOG_OPTIONS: AnyMapping[str, Callable[[str], object]] = {f"{_PREFIX}{name}": str for name in _PROPERTIES}


def check_table(mapping: Mapping) -> None:
    """Raise UsageError unless a table can be written as the options say."""
    write_table(mapping)


def write_table(mapping: Mapping) -> Sink:
    """Return the sink of a table, whose rows have the columns' names outside."""
    outside = {column.name: column.outside for column in mapping.columns}
    fields = []
    for text in _split(mapping.option("partitionBy", "")):
        column = partition_field(text).column
        if column not in outside:
            raise UsageError(f"Option partitionBy names columns of the mapping, and it has no column {column}")
        fields.append(text.replace(column, outside[column]) if outside[column] != column else text)
    catalog = {key.removeprefix(_PREFIX): value for key, value in mapping.options.items() if key.startswith(_PREFIX)}
    return sinks.iceberg(mapping.outside, catalog=catalog, partition_by=fields, schema_mode=mapping.options.get("schemaMode"))


def _split(text: str) -> list[str]:
    """Return the fields of ``word, bucket(4, n)``: commas within parentheses belong to a field."""
    fields, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            fields.append("")
        else:
            fields[-1] += character
    return [field.strip() for field in fields if field.strip()]
