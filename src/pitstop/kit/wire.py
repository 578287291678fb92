"""The form of values as JSON over HTTP, declared with the values.

The REST API sends our dataclasses and the client makes them again, both through pydantic, which finds these markers. Where
values are kept (kit.jsonable), moments stay numbers. Nothing here loads pydantic.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import math
import textwrap
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pitstop.errors import UsageError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import SerializationInfo, ValidationInfo, ValidatorFunctionWrapHandler

T = TypeVar("T")
_CONFIG = "__pydantic_config__"
_WHOLE = {"json_schema_serialization_defaults_required": True}
"""The setting by which an answer has all its fields, also those with a default."""

KEPT = "kept"
"""The context of pydantic for values that are kept and do not travel."""


def described(cls: type[T]) -> type[T]:
    """Describe each field of a dataclass in the API by the text below it.

    Pydantic's own way would read the source of each class whenever it meets it, which a server need not do to serve.
    """
    return described_by(lambda: texts_of(cls))(cls)


def texts_of(cls: type) -> dict[str, str]:
    """Return the text below each field of a class that has one."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for field, below in itertools.pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                texts[field.target.id] = inspect.cleandoc(text)
    return texts


def described_by(meanings: Callable[[], Mapping[str, str]]) -> Callable[[type[T]], type[T]]:
    """Describe a dataclass in the API by ``meanings()``, a text for each field."""

    def describe(schema: dict[str, Any]) -> None:
        for name, meaning in meanings().items():
            schema["properties"][name]["description"] = meaning

    def mark(cls: type[T]) -> type[T]:
        setattr(cls, _CONFIG, {"json_schema_extra": describe, **_WHOLE})
        return cls

    return mark


class _MomentForm:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as schemas

        serializer = schemas.plain_serializer_function_ser_schema(_moment, info_arg=True)
        return schemas.with_info_wrap_validator_function(_seconds, schemas.datetime_schema(), serialization=serializer)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "format": "date-time"}


class _JsonTextForm:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as schemas

        serializer = schemas.plain_serializer_function_ser_schema(from_json_text, return_schema=schemas.any_schema())
        return schemas.no_info_after_validator_function(json_text, schemas.any_schema(), serialization=serializer)


Moment = Annotated[float, _MomentForm()]
"""Seconds since the epoch; RFC 3339 text in UTC when it travels."""

JsonText = Annotated[str, _JsonTextForm()]
"""A JSON value as text; the value itself when it travels."""


def json_text(value: Any, what: str = "The value") -> str:
    """Return the text of a JSON value. UsageError for any other value, which it names as ``what``.

    Numbers are finite, and text has no half of a surrogate pair, which cannot be written as UTF-8.
    """
    try:
        return check_text(what, json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} is no JSON: {error}.") from None


def from_json_text(text: str) -> Any:
    """Return the value of a JSON text that is kept. A number unknown to JSON, which older releases let in, becomes text."""
    return json.loads(text, parse_constant=str, parse_float=_finite)


def check_text(what: str, text: str) -> str:
    """Return the text. UsageError, which names it as ``what``, if UTF-8 or some database cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not valid text: it holds one half of a surrogate pair.") from None
    if "\0" in text:
        raise UsageError(f"{what} holds a NUL, which no text may have here.")
    return text


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _moment(seconds: float, info: SerializationInfo) -> datetime | float:
    if info.context == KEPT:
        return seconds
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the calendar, which older releases let in
        return datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)


def _seconds(value: Any, moment: ValidatorFunctionWrapHandler, info: ValidationInfo) -> float:
    if info.context == KEPT:
        return float(value)
    seconds: float = moment(value).timestamp()
    return seconds
