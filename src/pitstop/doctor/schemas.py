"""Schemas of state and metadata of stateful operators, from Spark's files."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

from pitstop.doctor.flaws import Flaw
from pitstop.doctor.logs import FutureError, UnreadableError
from pitstop.doctor.numbers import whole

_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
DELAY = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class Column:
    """A column of a key or value."""

    name: str
    type: str
    watermark_delay_ms: int | None = None
    """The delay of the watermark that it, or a field in it, carries; None: it is no event time."""


@dataclass(frozen=True)
class ColumnFamily:
    """The keys and values of a store, or of one column family in it, such as a variable of a processor."""

    name: str
    keys: tuple[Column, ...]
    values: tuple[Column, ...]
    key_encoding: str | None = None
    """Schema 3: how keys are laid out in RocksDB."""


@dataclass(frozen=True)
class StateSchema:
    """A schema file."""

    format: int
    families: tuple[ColumnFamily, ...]


@dataclass(frozen=True)
class StoreInfo:
    """A store, as the metadata of an operator name it."""

    name: str
    partitions: int
    prefix_columns: int
    schema_paths: tuple[str, ...] = ()
    """Metadata 2: absolute paths of its schema files."""


@dataclass(frozen=True)
class OperatorMetadata:
    """The metadata file of an operator."""

    format: int
    name: str
    stores: tuple[StoreInfo, ...]
    properties: dict[str, Any]


def state_schema(content: bytes) -> StateSchema:
    """Return the content of a schema file. UnreadableError if it does not end where it should."""
    if not content:
        raise UnreadableError(Flaw.EMPTY)
    reader = _Reader(content)
    version = reader.text()
    if not version.startswith("v") or not version[1:].isdecimal() or len(version) > 10:
        raise UnreadableError(Flaw.GARBAGE, "its first text is not a version")
    number = int(version[1:])
    if number > 3:
        raise FutureError(version[1:])
    if number == 1:
        families = [ColumnFamily("default", _columns(reader.text()), _columns(reader.text()))]
    elif number == 2:
        families = [ColumnFamily("default", _columns(reader.chunks()), _columns(reader.chunks()))]
    else:
        families = [_family(reader) for _ in range(reader.whole())]
    if not reader.at_end:
        raise UnreadableError(Flaw.GARBAGE, "it has bytes after its schema")
    return StateSchema(number, tuple(families))


def _family(reader: _Reader) -> ColumnFamily:
    name = reader.text()
    reader.short()
    keys = _columns(reader.chunks())
    reader.short()
    values = _columns(reader.chunks())
    encoding = reader.chunks()
    if reader.at_chunks:  # settings of the family, of which there are none in the file of an older release
        reader.chunks()
    try:
        kind = str(json.loads(encoding).get("keyStateEncoderType")) if encoding else None
    except (ValueError, AttributeError, RecursionError):
        kind = None
    return ColumnFamily(name, keys, values, kind)


class _Reader:
    """Texts and numbers as Java's DataOutputStream writes them."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    @property
    def at_end(self) -> bool:
        return self._place == len(self._content)

    @property
    def at_chunks(self) -> bool:
        """True before the number of parts of a text, False before the name of a family, which is never empty."""
        return self._content[self._place : self._place + 2] == b"\x00\x00"

    def short(self) -> int:
        return int(self._unpacked(">H"))

    def whole(self) -> int:
        return int(self._unpacked(">i"))

    def text(self) -> str:
        size = self.short()
        text = self._content[self._place : self._place + size]
        if len(text) < size:
            raise UnreadableError(Flaw.CUT)
        self._place += size
        try:
            return text.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise UnreadableError(Flaw.GARBAGE, "a text in it is not UTF-8") from None

    def chunks(self) -> str:
        """Return a text that is written in parts, since one has at most 65,535 bytes."""
        number = self.whole()
        if not 0 <= number <= 10_000:
            raise UnreadableError(Flaw.GARBAGE)
        return "".join(self.text() for _ in range(number))

    def _unpacked(self, form: str) -> int:
        try:
            (number,) = struct.unpack_from(form, self._content, self._place)
        except struct.error:
            raise UnreadableError(Flaw.CUT) from None
        self._place += struct.calcsize(form)
        return int(number)


def _columns(text: str) -> tuple[Column, ...]:
    try:
        return tuple(_column(field) for field in json.loads(text)["fields"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UnreadableError(Flaw.GARBAGE, "a schema in it is not JSON of Spark") from None


def _column(field: dict[str, Any]) -> Column:
    return Column(str(field["name"]), type_text(field["type"]), _delay(field))


def _delay(field: dict[str, Any]) -> int | None:
    metadata, kind = field.get("metadata") or {}, field["type"]
    inner = kind.get("fields", ()) if isinstance(kind, dict) else ()
    delays = (metadata.get(DELAY), *(_delay(each) for each in inner))
    return next((whole(delay) for delay in delays if delay is not None), None)


def type_text(kind: Any) -> str:
    """Return a type as SQL writes it, of the type as JSON."""
    if isinstance(kind, str):
        return _TYPES.get(kind, kind)
    form = kind["type"]
    if form == "struct":
        fields = ", ".join(f"{field['name']}: {type_text(field['type'])}" for field in kind["fields"])
        return f"struct<{fields}>"
    if form == "array":
        return f"array<{type_text(kind['elementType'])}>"
    if form == "map":
        return f"map<{type_text(kind['keyType'])}, {type_text(kind['valueType'])}>"
    return type_text(kind["sqlType"]) if form == "udt" else str(form)


def operator_metadata(content: bytes) -> OperatorMetadata:
    """Return the content of an operator's metadata. UnreadableError if Spark cannot read it."""
    if not content:
        raise UnreadableError(Flaw.EMPTY)
    try:
        first, _, text = content.decode().partition("\n")
    except UnicodeDecodeError:
        raise UnreadableError(Flaw.GARBAGE) from None
    if first not in ("v1", "v2"):
        if first.startswith("v") and first[1:].isdecimal():
            raise FutureError(first[1:])
        raise UnreadableError(Flaw.CUT if "v1".startswith(first) else Flaw.GARBAGE, "its first line is not a version")
    try:
        facts = json.loads(text)
        stores = tuple(
            StoreInfo(
                str(store["storeName"]),
                whole(store["numPartitions"]),
                whole(store.get("numColsPrefixKey", 0)),
                tuple(str(path) for path in store.get("stateSchemaFilePaths") or ()),
            )
            for store in facts["stateStoreInfo"]
        )
        properties = json.loads(facts.get("operatorPropertiesJson") or "{}")
        return OperatorMetadata(int(first[1:]), str(facts["operatorInfo"]["operatorName"]), stores, dict(properties))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UnreadableError(Flaw.CUT if text.startswith("{") else Flaw.GARBAGE, "its JSON does not end") from None
