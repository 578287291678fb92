"""CSV and JSON as files hold them: how Pitstop writes them, and reads them back as the same values."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

NO_VALUE = "\ufdd0null\ufdd0"
"""The text that Spark's CSV parser takes for null. No value has it; otherwise Spark would take ``""`` for null, too."""

CSV_FORM = {"quote": '"', "escape": '"'}
"""RFC 4180: a quote within quotes is doubled, and a backslash is a letter like others."""

CORRUPT = "__corrupt"
"""Column, or field, of a parsed row: its text if it did not parse, else null."""

PLACE = "__place"
"""The column beside it with the file that holds the text, where files are parsed."""

_AS_TEXT = ("string", "byte", "short", "integer", "long", "boolean")
"""Types of keys that Spark writes into JSON as people do. For others it shows its internal form."""

_IN_NO_FILE = ("interval",)
"""Types that Spark writes into no file; the intervals of days to seconds and years to months are types of their own."""
_IN_PARQUET = ("geometry", "geography")
"""Types that Spark writes into parquet alone."""

EXACT_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Options of Spark's writers of CSV and JSON: its own formats cut times to milliseconds."""


def writing_options(form: str, columns: int, user: dict[str, str]) -> dict[str, str]:
    """Return the options of Spark's writer of ``csv``, ``json`` or ``parquet``: ours, overridden by a user's."""
    if form == "parquet":
        return user
    ours = dict(EXACT_TIMES)
    if form == "csv":
        ours |= CSV_FORM | {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
        if columns == 1:
            # A line with nothing in it, or blanks alone, is no row to any reader.
            ours |= {"quoteAll": "true", "nullValue": '""'}
    return _under(ours, user)


def reading_options(form: str, schema: StructType | None, user: dict[str, str]) -> dict[str, str]:
    """Return the options of Spark's reader: ours, overridden by a user's."""
    if form != "csv":
        return user
    texts = schema is None or any(isinstance(field.dataType, StringType) for field in schema.fields)
    return _under(CSV_FORM | ({"nullValue": NO_VALUE} if texts and not _says_empty(user) else {}), user)


def lenient_options(form: str, schema: StructType | None, user: dict[str, str]) -> dict[str, str] | None:
    """Return options that read again the rows that :func:`reading_options` cannot read; None if that would change nothing.

    A writer that puts all fields in quotes writes ``""`` for a missing number. In such a row all empty texts are taken for null.
    """
    texts = schema is not None and len({isinstance(field.dataType, StringType) for field in schema.fields}) == 2
    return _under(CSV_FORM, user) if form == "csv" and texts and not _says_empty(user) else None


def has_no_place(form: str, kind: DataType) -> str | None:
    """Return what a format cannot hold of a type, and what to do; None if it can.

    The text is a clause that goes on ``column 'x' ...``.
    """
    name = kind.typeName()
    if form == "csv" and name in ("struct", "array", "map", "variant"):
        return "is nested, and csv has no place for it: use json or parquet."
    if form == "csv" and name == "binary":
        return "is binary, and csv holds text: use parquet, or write base64(...) of it."
    if form == "csv" and name == "void":
        return "is null in every row, and has no type: cast it to the type that you want."
    for part in _parts(kind):
        if part.typeName() in _IN_NO_FILE or (form != "parquet" and part.typeName() in _IN_PARQUET):
            return f"has values of type {part.simpleString()}, and {form} has no place for them: cast them to string."
        if isinstance(part, StructType) and not part.fields:
            return f"has a struct without fields, and {form} has no place for it: leave it out."
    if form == "json" and (key := _other_key(kind, _AS_TEXT)) is not None:
        what = f"has a map with keys of type {key.simpleString()}, and json has text for keys"
        return f"{what}: use parquet, or cast the keys to string."
    return None


def cannot_be_read(form: str, kind: DataType) -> str | None:
    """Return what Spark cannot read of a type in a format, and what to do; None if it can.

    The text is a clause that goes on ``column 'x' ...``.
    """
    key = _other_key(kind, ("string",)) if form == "json" else None
    if key is None:
        return None
    return f"has a map with keys of type {key.simpleString()}, and json has text for keys: read string, and cast the keys then."


def _other_key(kind: DataType, types: tuple[str, ...]) -> DataType | None:
    """Return the type of the keys of a map, anywhere in a type, that is not one of ``types``; None if all are."""
    keys = (part.keyType for part in _parts(kind) if isinstance(part, MapType))
    return next((key for key in keys if key.typeName() not in types), None)


def _parts(kind: DataType) -> Iterator[DataType]:
    """Return the type, and all types within it."""
    yield kind
    match kind:
        case StructType():
            below = [field.dataType for field in kind.fields]
        case ArrayType():
            below = [kind.elementType]
        case MapType():
            below = [kind.keyType, kind.valueType]
        case _:
            below = []
    for part in below:
        yield from _parts(part)


def has_times_of_day(kind: DataType) -> bool:
    """Return True if a type is, or holds, ``time``."""
    return any(part.typeName() == "time" for part in _parts(kind))


def _says_empty(user: dict[str, str]) -> bool:
    return bool({"nullvalue", "emptyvalue"} & {name.casefold() for name in user})


def _under(ours: dict[str, str], user: dict[str, str]) -> dict[str, str]:
    """Return both kinds of options, a user's over ours. The names of two of Spark's options never differ in case alone."""
    chosen = {name.casefold() for name in user}
    return {name: value for name, value in ours.items() if name.casefold() not in chosen} | user
