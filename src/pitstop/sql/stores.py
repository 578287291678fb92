"""The way to a store of S3, as options of mappings whose path lies there."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from typing import Any

from pitstop.pipeline.object_stores import S3Store, s3_store, store_of
from pitstop.sql.mappings import Mapping, truth

_PARTS: AnyMapping[str, tuple[str, Callable[[str], Any]]] = {
    "s3.endpoint": ("endpoint", str),
    "s3.region": ("region", str),
    "s3.pathStyle": ("path_style", truth),
    "s3.accessKey": ("access_key", str),
    "s3.secretKey": ("secret_key", str),
    "s3.sessionToken": ("session_token", str),
}
"""Option of a mapping -> the argument of ``s3_store``, and the function that reads its text."""
STORE_OPTIONS: AnyMapping[str, Callable[[str], object]] = {name: read for name, (_, read) in _PARTS.items()}


def store_in(mapping: Mapping) -> S3Store | None:
    """Return the store of a mapping's options; None if there are none. UsageError if its path is not in S3."""
    texts = {name: mapping.options[name] for name in _PARTS if name in mapping.options}
    store = s3_store(**{_PARTS[name][0]: _PARTS[name][1](value) for name, value in texts.items()}) if texts else None
    return store_of(store, mapping.options["path"])


def check_store(mapping: Mapping) -> None:
    """Raise UsageError unless the options of a store are right together."""
    store_in(mapping)
