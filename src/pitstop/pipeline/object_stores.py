"""Object stores of S3: the addresses of what lies there, and how a job reaches a store, as one value for sources and sinks."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pitstop.errors import UsageError
from pitstop.machine.local_paths import scheme_of
from pitstop.machine.named_secrets import is_reference
from pitstop.pipeline.option_texts import OptionValue

STORE = "s3Store"
"""The option of a source with the text of its S3Store."""
SCHEME = "s3a"
"""The scheme of addresses of S3, as Hadoop has it."""
_SCHEMES = (SCHEME, "s3", "s3n")
"""Schemes that mean the same here."""
_ADDRESS = re.compile(r"(?:s3a|s3|s3n)://([^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SECRETS = ("access_key", "secret_key", "session_token")


@dataclass(frozen=True)
class S3Store(OptionValue):
    """The way to a store of S3. :func:`s3_store` makes one."""

    endpoint: str | None = None
    """The URL of the store; None: Amazon's own."""
    region: str | None = None
    """The region of the bucket; None: as the machine's settings for AWS say."""
    path_style: bool | None = None
    """True if the bucket stands in the path of a request, and not in the name of the host; None: with an endpoint."""
    access_key: str | None = None
    """The secret with the id of an access key; None: the machine's own credentials for AWS count."""
    secret_key: str | None = None
    """The secret with the secret part of that key."""
    session_token: str | None = None
    """The secret with the token of temporary credentials."""


def s3_store(
    *,
    endpoint: str | None = None,
    region: str | None = None,
    path_style: bool | None = None,
    access_key: str | None = None,
    secret_key: str | None = None,
    session_token: str | None = None,
) -> S3Store:
    """Return how a job reaches a store of S3, for ``store=`` of sources and sinks with an address ``s3a://bucket/folder``.

    ``endpoint`` is the URL of a store that is not Amazon's, such as ``https://minio:9000``; ``region`` the region of the bucket.
    ``path_style`` says that the bucket stands in the path of a request; that is usual with an endpoint, and not with Amazon.

    ``access_key`` and ``secret_key`` are always secrets, as in ``access_key="secret:S3_KEY"``; so is ``session_token``, which
    temporary credentials have beside them (docs/security.md). Without them the machine's own credentials for AWS count: those
    of the environment, of a profile in ``~/.aws``, of a container or of the instance.
    """
    store = S3Store(endpoint, region, path_style, access_key, secret_key, session_token)
    objection = _objection(store)
    if objection is not None:
        raise UsageError(f"store: {objection}")
    return store


def store_of(value: S3Store | Mapping[str, Any] | None, address: str) -> S3Store | None:
    """Return the store that a user gives, perhaps as a mapping. UsageError if ``address`` is none of S3."""
    if value is None:
        return None
    if not is_s3(address):
        raise UsageError(f"store is for addresses of S3 (s3a://bucket/folder), and {address!r} is none: leave it out.")
    if isinstance(value, S3Store):
        return value
    names = [part.name for part in dataclasses.fields(S3Store)]
    if unknown := sorted(value.keys() - set(names)):
        raise UsageError(f"store has no {', '.join(unknown)}. There are: {', '.join(names)}.")
    return s3_store(**value)


def is_s3(path: str) -> bool:
    """Return True for an address of S3."""
    return scheme_of(path) in _SCHEMES


def s3_address(path: str) -> str:
    """Return an address of S3 as Hadoop has it, and any other path as it is. UsageError for an address without a bucket."""
    if not is_s3(path):
        return path
    address = _ADDRESS.fullmatch(path)
    if address is None:
        raise UsageError(f"{path!r} names no bucket: an address of S3 is s3a://bucket/folder.")
    bucket, folder = address[1], address[2]
    if "@" in bucket:
        # What stands in code and arguments is kept with each version, and shown.
        raise UsageError("An address of S3 has no credentials in it: give them by store=ps.s3_store(...), as secrets.")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{path!r} names no bucket: {bucket!r} is no name of one. An address of S3 is s3a://bucket/folder.")
    return f"{SCHEME}://{bucket}{folder or '/'}"


def bucket_of(address: str) -> str:
    """Return the bucket of an address of :func:`s3_address`."""
    return urlsplit(address).netloc


def _objection(store: S3Store) -> str | None:
    if store.endpoint is not None:
        url = urlsplit(store.endpoint)
        if url.scheme not in ("http", "https") or not url.hostname or url.path not in ("", "/") or url.query or url.fragment:
            return f"endpoint is a URL such as https://host:9000, not {store.endpoint!r}."
        if "@" in url.netloc:
            return "endpoint has no user and no password: give access_key and secret_key."
    for name in _SECRETS:
        value = getattr(store, name)
        if value is not None and not is_reference(value):
            return f'{name} is given by the name of a secret, as {name}="secret:S3_{name.upper()}" (docs/security.md).'
    for one, other in (("access_key", "secret_key"), ("secret_key", "access_key"), ("session_token", "access_key")):
        if getattr(store, one) is not None and getattr(store, other) is None:
            return f"{one} needs {other}."
    return None
