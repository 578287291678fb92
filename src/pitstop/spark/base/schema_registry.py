"""A registry of schemas that speaks Confluent's REST: its address with secrets, and the registration of a schema."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

import httpx2

from pitstop.errors import EngineError, UsageError
from pitstop.machine.named_secrets import names_in, noted, revealed_url
from pitstop.spark.base.failures import PASSING

_SECONDS = 10.0
_PASSING_STATUS = (408, 425, 429)


@dataclass(frozen=True)
class SchemaRegistry:
    """A registry, with the values of its secrets."""

    address: str
    """Its URL, without user and password."""
    authorization: str | None = field(repr=False)
    """The header by which it is signed in to; None: none."""


def registry_at(url: str) -> SchemaRegistry:
    """Return the registry at a URL with secrets by their names. UsageError, without their values, if it is no URL."""
    parts = _parts(url)
    address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    if parts.username is None:
        return SchemaRegistry(address, None)
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    credentials = base64.b64encode(user.encode()).decode()
    for name in names_in(url):
        noted(credentials, name)
    return SchemaRegistry(address, f"Basic {credentials}")


def _parts(registry: str) -> SplitResult:
    whole = revealed_url(registry)
    with suppress(ValueError):  # whose words would have a part of a secret
        url = urlsplit(whole)
        if url.scheme in ("http", "https") and url.hostname and url.port != 0 and not re.search(r"\s", whole):
            return url
    names = sorted(set(names_in(registry)))
    held = f"what secret {' or '.join(names)} holds" if names else repr(registry)
    raise UsageError(f"schema_registry must be a URL with http:// or https:// and a host, and {held} is not one.")


@cache
def registered(registry: SchemaRegistry, subject: str, schema: str) -> int:
    """Return the id of a schema of Avro, which is registered under a subject unless it is there.

    EngineError if the registry refuses it; one that may pass if the registry is away.
    """
    url = f"{registry.address}/subjects/{quote(subject, safe='')}/versions"
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    if registry.authorization is not None:
        headers["Authorization"] = registry.authorization
    whole = f"The schema registry {registry.address}"
    try:
        answer = httpx2.post(url, json={"schema": schema}, headers=headers, timeout=_SECONDS)
    except httpx2.TransportError as error:
        raise EngineError(f"{whole} is away ({str(error) or type(error).__name__}).", **PASSING) from None
    if answer.status_code >= 500 or answer.status_code in _PASSING_STATUS:
        raise EngineError(f"{whole} is away (it answers {answer.status_code}).", **PASSING)
    content = _object(answer)
    number = content.get("id")
    if answer.status_code == 200 and isinstance(number, int):
        return number
    why = str(content.get("message") or f"it answers {answer.status_code}").splitlines()[0].rstrip(".")
    raise EngineError(f"{whole} does not take the schema of subject '{subject}': {why}.")


def _object(answer: httpx2.Response) -> dict[str, object]:
    try:
        content = answer.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
