"""Files in buckets of Amazon, Google and Azure, read by the rights of a Secret or anonymously, never by those of this machine.

The library only signs a URL, here and without a request, or reads anonymously. It would ask the machine's cloud for credentials
otherwise, and read with the rights of the node what the author of a JetJob may not read.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from pitstop.errors import ArtifactError

ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, REGION, ENDPOINT = (
    "access-key-id",
    "secret-access-key",
    "session-token",
    "region",
    "endpoint",
)
ACCOUNT, ACCOUNT_KEY = "storage-account", "storage-key"
GOOGLE_KEY = "google-credentials-path"
NEEDED = {"s3": (ACCESS_KEY, SECRET_KEY), "gs": (GOOGLE_KEY,), "az": (ACCOUNT, ACCOUNT_KEY)}
"""The keys of a Secret that say who reads, named as in the Hazelcast operator."""
_GOOGLE_FIELDS = ("private_key", "private_key_id", "client_email", "gcs_base_url")
_SIGNED_FOR = timedelta(minutes=10)
_SECONDS = 30.0


@dataclass(frozen=True)
class Rights:
    """The content of the Secret that a JetJob names."""

    secret: str
    """The name of the Secret."""
    content: Mapping[str, str]

    def __getitem__(self, key: str) -> str:
        return self.content.get(key, "").strip()


def signed_url(uri: str, name: str, rights: Rights) -> str:
    """Return a URL that gives a file of a bucket to whoever asks, for some minutes.

    ArtifactError if the Secret lacks what it takes.
    """
    scheme = urlsplit(uri).scheme
    missing = [key for key in NEEDED[scheme] if not rights[key]]
    if missing:
        raise ArtifactError(
            f"Secret '{rights.secret}' has no {' and no '.join(missing)}: {uri} is read only with the rights of "
            "that Secret. Add the missing keys, or leave out secretName if everybody may read the bucket."
        )
    endpoint = rights[ENDPOINT]
    if endpoint and not re.fullmatch(r"https?://[^\s/?#][^\s?#]*", endpoint):
        raise ArtifactError(f"Secret '{rights.secret}', {ENDPOINT}: '{endpoint}' is not a URL such as https://s3.example.org.")
    try:
        return str(obstore.sign(_signing(uri, scheme, rights), "GET", name, _SIGNED_FOR))
    except (BaseError, ValueError) as error:
        words = str(error).partition("\n")[0]
        raise ArtifactError(f"Secret '{rights.secret}' cannot be used for {uri}: {words}") from None


def _signing(uri: str, scheme: str, rights: Rights) -> Any:
    """Return the library's store, which signs with the keys of the Secret even where the environment has others."""
    client: Any = {"allow_http": True}
    once: Any = {"max_retries": 0}
    endpoint: Any = {"endpoint": rights[ENDPOINT]} if rights[ENDPOINT] else {}
    if scheme == "s3":
        region: Any = {"region": rights[REGION]} if rights[REGION] else {}
        keys: Any = {
            "access_key_id": rights[ACCESS_KEY],
            "secret_access_key": rights[SECRET_KEY],
            "token": rights[SESSION_TOKEN] or None,
            "expires_at": None,
        }
        amazon: Any = {**region, **endpoint, "skip_signature": False}
        return S3Store.from_url(uri, config=amazon, client_options=client, credential_provider=lambda: keys)
    if scheme == "gs":
        config: Any = {"service_account_key": _google_key(uri, rights), "skip_signature": False}
        return GCSStore.from_url(uri, config=config, client_options=client, retry_config=once)
    try:
        base64.b64decode(rights[ACCOUNT_KEY], validate=True)
    except ValueError:
        raise ArtifactError(f"Secret '{rights.secret}', {ACCOUNT_KEY}: it is not a key of Azure, which is in base64.") from None
    account: Any = {"access_key": rights[ACCOUNT_KEY], "expires_at": None}
    azure: Any = {"account_name": rights[ACCOUNT], **endpoint, "skip_signature": False}
    return AzureStore.from_url(uri, config=azure, client_options=client, credential_provider=lambda: account)


def _google_key(uri: str, rights: Rights) -> str:
    """Return the key of a service account. Other credentials of Google lead to a server that is asked for the rights."""
    try:
        document = json.loads(rights[GOOGLE_KEY])
    except ValueError:
        document = None
    if not isinstance(document, dict) or not document.get("private_key") or not document.get("client_email"):
        raise ArtifactError(
            f"Secret '{rights.secret}', {GOOGLE_KEY}: it is not the JSON key of a service account (with private_key and "
            f"client_email), by which alone {uri} is read."
        )
    # disable_oauth, for one, would have Google's own service sign, which is a request.
    return json.dumps({"private_key_id": "", **{field: document[field] for field in _GOOGLE_FIELDS if field in document}})


def public(uri: str) -> Any:
    """Return the library's store of a bucket that everybody may read."""
    scheme = urlsplit(uri).scheme
    limits: Any = {"timeout": f"{_SECONDS:g}s"}
    retries: Any = {"max_retries": 2}
    config: Any = {"skip_signature": True}
    if scheme == "s3":
        return S3Store.from_url(uri, config=config, client_options=limits, retry_config=retries)
    if scheme == "gs":
        return GCSStore.from_url(uri, config=config, client_options=limits, retry_config=retries)
    raise ArtifactError(f"{uri} needs secretName: a Secret with {ACCOUNT}, which says whose it is, and {ACCOUNT_KEY}.")
