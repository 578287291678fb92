"""Causes in words of what keeps the code of a job from being read. This module only words them."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator

import httpx2

_LONGEST = 400
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
_REFUSED, _UNKNOWN, _SILENT = "{} refuses connections: nothing listens there", "the name of {} is not known", "{} does not answer"
_BY_LIBRARY = (
    (re.compile(r"ConnectionRefused|Connection refused"), _REFUSED),
    (re.compile(r"dns error|failed to lookup address", re.IGNORECASE), _UNKNOWN),
    (re.compile(r"TimedOut|timed out"), _SILENT),
    (re.compile(r"certificate", re.IGNORECASE), "the certificate of {} is not trusted"),
    (re.compile(r"NetworkUnreachable|HostUnreachable"), "there is no way to {}"),
)
"""Words in the library's account of an error, which has its causes at the end, below many lines of its own."""
_BY_STATUS = {
    301: "the bucket may be in another region: the Secret's key 'region' says in which",
    307: "the bucket may be in another region: the Secret's key 'region' says in which",
    401: "it wants other credentials",
    403: "the credentials are wrong, or may not read it",
    429: "it was asked too often",
}


def of_download(error: BaseException, host: str) -> str:
    """Return the cause of a download that failed. ``host`` names its server."""
    for each in _all_of(error):
        cause = _of_one(each, host)
        if cause is not None:
            return cause
    return str(error)[:_LONGEST] or type(error).__name__


def of_status(status: int, host: str) -> str:
    """Return the cause of an answer that is none."""
    words = _BY_STATUS.get(status) or (f"{host} has a fault of its own" if status >= 500 else None)
    return f"HTTP {status}" + (f": {words}" if words is not None else "")


def of_bucket(error: BaseException, host: str) -> str:
    """Return the cause of an error of the library for buckets."""
    text = str(error).strip()
    for pattern, words in _BY_LIBRARY:
        if pattern.search(text):
            return words.format(host)
    return first_line(text)


def first_line(text: str) -> str:
    """Return the first line of an error, without durations and request ids: these would differ each time."""
    return re.sub(r"( in [\d.]+\w+)?,? after \d+ retries.*|<RequestId>.*", "", text.strip().partition("\n")[0])[:_LONGEST]


def _of_one(error: BaseException, host: str) -> str | None:
    if isinstance(error, socket.gaierror):
        return _UNKNOWN.format(host)
    if isinstance(error, ConnectionRefusedError):
        return _REFUSED.format(host)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {host} is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"{host} does not speak https as it should"
    if isinstance(error, ConnectionResetError | httpx2.RemoteProtocolError):
        return f"{host} ended the connection before its answer was there"
    if isinstance(error, httpx2.TimeoutException):
        return _SILENT.format(host)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return "it is not an http or https URL"
    if isinstance(error, OSError) and error.errno in _NO_WAY:
        return f"there is no way to {host}"
    return None


def _all_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, the last cause first."""
    if error is None:
        return
    yield from _all_of(error.__cause__ or error.__context__)
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _all_of(each)
    yield error
