"""Faults of stores of S3, recognised in the words of Hadoop, Arrow and delta-rs, which speak with them, or in ours."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REFUSALS = (
    (
        r"NO_SUCH_BUCKET|NoSuchBucket|[Tt]he specified bucket does not exist|UnknownStoreException",
        "there is no such bucket: make it, or correct its name",
    ),
    (
        r"INVALID_ACCESS_KEY_ID|InvalidAccessKeyId|The AWS Access Key Id you provided does not exist",
        "the store does not know the access key: correct access_key",
    ),
    (
        r"SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|The request signature we calculated does not match",
        "the secret key is not the one of the access key: correct secret_key",
    ),
    (
        r"EXPIRED_TOKEN|ExpiredToken|INVALID_TOKEN|InvalidToken|The provided token (?:has expired|is malformed)",
        "the session token is not valid any more: give a new one",
    ),
    (
        r"Unable to load credentials|NoAuthWithAWSException|NoAwsCredentialsException|CredentialInitializationException"
        r"|No AWS Credentials|NO_CREDENTIALS",
        "there are no credentials: give access_key and secret_key in store=, or the machine credentials for AWS",
    ),
    (
        r"ACCESS_DENIED|AccessDenied|Status Code: 403|HTTP status 403|403 Forbidden",
        "access is denied: check access_key, secret_key, and the rights of their user",
    ),
)
"""Pattern -> the clause about a store that refuses."""
_OF_STORE = re.compile(
    r"s3a://|software\.amazon\.awssdk|\(Service: S3|org\.apache\.hadoop\.fs\.s3a|AWS Error|Generic S3 error"
    r"|Error performing (?:GET|PUT|HEAD|POST|DELETE|list)|<Code>\w+</Code>"
)
"""Texts without one of these tell of no store."""
_AWAY = (
    (r"Connection refused|Could not connect|ConnectException|tcp connect error|client error \(Connect\)", "no connection"),
    (r"UnknownHostException|Couldn't resolve host|Could not resolve host|dns error", "its host is not known"),
    (
        r"SLOW_DOWN|SlowDown|Status Code: 503|503 Service Unavailable|HTTP status 503|SERVICE_UNAVAILABLE|THROTTL"
        r"|AWSServiceThrottledException",
        "it is too busy, status 503",
    ),
    (r"Status Code: (?:500|502|504)|HTTP status 50[024]|INTERNAL_FAILURE|InternalError|AWSStatus500Exception", "it has failed"),
    (
        r"timed out|[Tt]imeout|TimeoutException|Operation too slow|did not complete before",
        "no answer in time",
    ),
    (
        r"NETWORK_CONNECTION|error sending request|connection (?:closed|reset)|Connection reset|NoHttpResponseException"
        r"|failed to respond|Unable to execute HTTP request|Premature end|ConnectionClosedException|SocketException",
        "the connection broke",
    ),
)
"""Pattern -> the reason why a store is away."""
_BUCKET = re.compile(
    r"s3a://(?P<hadoop>[a-z0-9][a-z0-9._-]+)|in bucket '(?P<arrow>[^']+)'|for bucket (?P<named>[a-z0-9][a-z0-9._-]+)"
)
_ABSENT = "the store does not answer"
_OURS = re.compile(r"bucket '(?P<bucket>[^'\n]+)' of S3: (?P<clause>(?:[^()\n]|\([^()\n]*\))*)")
"""A fault as our tasks and processes tell it to one another."""


@dataclass(frozen=True)
class StoreFault:
    """A fault of a store."""

    clause: str
    """The fault, which goes on ``bucket 'b': ...``."""
    is_away: bool
    """True if the store may be back soon."""
    bucket: str | None = None
    """The bucket, if the text names it."""


def store_fault(text: str) -> StoreFault | None:
    """Return the fault that a text tells of; None if it is none of a store's."""
    ours = _OURS.search(text)
    if ours is not None:
        clause = ours["clause"].strip().rstrip(".")
        return StoreFault(clause, clause.startswith(_ABSENT), ours["bucket"])
    if _OF_STORE.search(text) is None:
        return None
    match = _BUCKET.search(text)
    bucket = next((name for name in match.groups() if name is not None), None) if match is not None else None
    for pattern, clause in _REFUSALS:
        if re.search(pattern, text):
            return StoreFault(clause, False, bucket)
    for pattern, why in _AWAY:
        if re.search(pattern, text):
            return StoreFault(f"{_ABSENT} ({why})", True, bucket)
    return None
