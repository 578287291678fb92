"""Values of job options that are more than a number or a word, read as users write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pitstop.errors import UsageError

_ENGINES_OWN = {
    "spark.sql.shuffle.partitions": "use the option partitions",
    "spark.sql.streaming.stateStore.providerClass": "use the option state_store",
} | dict.fromkeys(
    (
        "spark.sql.exchange.reuse",
        "spark.sql.optimizer.excludedRules",
        "spark.sql.streaming.join.stateFormatVersion",
        "spark.sql.streaming.offsetLog.formatVersion",
        "spark.sql.streaming.stateStore.encodingFormat",
        "spark.sql.streaming.unsupportedOperationCheck",
    ),
    "leave it out",
)
"""Spark settings that saved state and its results depend on (spark/base/session.py), and what to do instead."""


def spark_settings(name: str, value: Any) -> dict[str, str]:
    """Settings by their names; UsageError for those that saved state depends on."""
    if not isinstance(value, dict):
        raise UsageError(f"The job option '{name}' is a mapping of Spark settings to values.")
    for key in value:
        if str(key) in _ENGINES_OWN:
            raise UsageError(f"The Spark setting {key} is the engine's own, state depends on it: {_ENGINES_OWN[str(key)]}.")
    return {str(k): str(v) for k, v in value.items()}


def renamed_stages(value: Any) -> dict[str, str]:
    """New name -> old name, from a mapping or from ``new=old,new=old``; UsageError if it is neither."""
    if isinstance(value, dict):
        return {str(new): str(old) for new, old in value.items()}
    renamed = {}
    for pair in filter(None, str(value).split(",")):
        new, equals, old = (part.strip() for part in pair.partition("="))
        if not (new and equals and old):
            raise UsageError(f"Write a renamed stage as new=old, not '{pair}'.")
        renamed[new] = old
    return renamed


ALL_STAGES = "*"
"""In ``allow_drop``: whatever is dropped."""


def stages_to_drop(value: Any) -> tuple[str, ...]:
    """Names of stages and sources, from a list or from text with commas; ``*`` for all of them, from true, too."""
    if isinstance(value, str):
        value = _read_json(value) if value.strip().lower() in ("true", "false") or "[" in value else value.split(",")
    if isinstance(value, bool):
        return (ALL_STAGES,) if value else ()
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise UsageError("The job option 'allow_drop' is true, or a list of stages and sources, such as [\"speed\"].")
    names = tuple(dict.fromkeys(name.strip() for name in value if name.strip()))
    return (ALL_STAGES,) if ALL_STAGES in names else names


def places_to_seek(name: str, value: Any) -> dict[str, str]:
    """Return source -> its place as text, from a mapping, the JSON text of one, or ``source=place``; UsageError otherwise."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _read_json(value)
    if isinstance(value, str):
        source, equals, place = value.partition("=")
        value = {source: place} if equals else None
    if not isinstance(value, Mapping) or not all(str(source).strip() and _place_text(at) for source, at in value.items()):
        raise UsageError(
            f"The job option '{name}' is a source and its place, such as orders=2026-11-01T00:00, or a mapping of such."
        )
    return {str(source).strip(): _place_text(at) for source, at in value.items()}


def _place_text(place: Any) -> str:
    """Return a place as text: a mapping as JSON, a time in ISO 8601; empty for anything else."""
    if isinstance(place, Mapping):
        return json.dumps(place)
    return place.isoformat() if isinstance(place, datetime) else place.strip() if isinstance(place, str) else ""


def _read_json(text: str) -> Any:
    try:
        return json.loads(text if "[" in text or "{" in text else text.strip().lower())
    except ValueError:
        return None


_ENGINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def engine_name(name: str, value: Any) -> str:
    """Return the name of an engine; UsageError if none can have it."""
    engine = str(value).strip()
    if not _ENGINE.fullmatch(engine):
        raise UsageError(
            f"'{engine}' cannot name an engine ({name}): use letters, digits, '_', '.' and '-', starting with a letter or digit, "
            "40 characters at most."
        )
    return engine


def listed_requirements(name: str, value: Any) -> tuple[str, ...]:
    """Requirements, from a list, the JSON text of one, or lines of text; UsageError if it is none of these."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            raise UsageError(f"The job option '{name}' is {value!r}, which is not JSON.") from None
    lines = value.splitlines() if isinstance(value, str) else value
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise UsageError(f"The job option '{name}' is a list of requirements, such as [\"six>=1.16\"].")
    return tuple(line.strip() for line in lines if line.strip())
