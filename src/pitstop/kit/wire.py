"""How values travel as JSON over HTTP, said where the values are defined.

The REST API sends our dataclasses and the client makes them again, both through pydantic, which finds these markers. Where
values are kept (kit.jsonable), moments stay numbers. Nothing here loads pydantic.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import SerializationInfo, ValidationInfo, ValidatorFunctionWrapHandler

T = TypeVar("T")
_CONFIG = "__pydantic_config__"

KEPT = "kept"
"""Context of pydantic for values that do not travel, but are kept."""


def described(cls: type[T]) -> type[T]:
    """The text below each field of this dataclass describes it in the API."""
    setattr(cls, _CONFIG, {"use_attribute_docstrings": True})
    return cls


def described_by(meanings: Callable[[], Mapping[str, str]]) -> Callable[[type[T]], type[T]]:
    """``meanings()``, by field, describe this dataclass in the API."""

    def describe(schema: dict[str, Any]) -> None:
        for name, meaning in meanings().items():
            schema["properties"][name]["description"] = meaning

    def mark(cls: type[T]) -> type[T]:
        setattr(cls, _CONFIG, {"json_schema_extra": describe})
        return cls

    return mark


class _MomentForm:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as schemas

        written = schemas.plain_serializer_function_ser_schema(_moment, info_arg=True)
        return schemas.with_info_wrap_validator_function(_seconds, schemas.datetime_schema(), serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "format": "date-time"}


class _JsonTextForm:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as schemas

        written = schemas.plain_serializer_function_ser_schema(json.loads, return_schema=schemas.any_schema())
        return schemas.no_info_after_validator_function(json_text, schemas.any_schema(), serialization=written)


Moment = Annotated[float, _MomentForm()]
"""Seconds since the epoch; RFC 3339 text in UTC when it travels."""

JsonText = Annotated[str, _JsonTextForm()]
"""A JSON value as text; the value itself when it travels."""


def json_text(value: Any) -> str:
    """A JSON value as text, as it is kept."""
    return json.dumps(value, ensure_ascii=False)


def _moment(seconds: float, info: SerializationInfo) -> datetime | float:
    return seconds if info.context == KEPT else datetime.fromtimestamp(seconds, UTC)


def _seconds(value: Any, moment: ValidatorFunctionWrapHandler, info: ValidationInfo) -> float:
    if info.context == KEPT:
        return float(value)
    seconds: float = moment(value).timestamp()
    return seconds
