"""The prospect that another attempt succeeds after an error that the user's code, or a library it uses, has raised.

Libraries have errors of their own, which are not imported here: they are recognized by the names of their classes.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from enum import Enum, auto

from pitstop.spark.base.no_room import without_rows


class Prospect(Enum):
    """The prospect of another attempt."""

    PASSES = auto()
    """Something outside is away, such as a database, and may come back."""
    UNKNOWN = auto()
    STAYS = auto()
    """The code, or a row, is wrong, and another attempt would fail in the same way."""


_PASSING = frozenset(
    {
        *("ConnectionError", "TimeoutError", "Timeout", "TimeoutException", "ConnectTimeout", "ReadTimeout", "NetworkError"),
        *("TransportError", "OperationalError", "InterfaceError", "RemoteDisconnected", "IncompleteRead", "URLError"),
        *("NoBrokersAvailable", "KafkaConnectionError", "KafkaTimeoutError", "EndpointConnectionError", "ServiceUnavailable"),
        *("gaierror", "herror", "timeout", "SSLError", "ProtocolError", "ChunkedEncodingError", "ServerDisconnectedError"),
        *("ConnectionRefusedError", "ConnectionResetError", "ConnectionAbortedError", "BrokenPipeError"),
    }
)
"""Names of errors of connections: those of Python, HTTP clients, DB-API drivers, and clients of brokers and clouds."""

_STAYING = frozenset(
    {
        *("TypeError", "AttributeError", "NameError", "LookupError", "ValueError", "ArithmeticError", "AssertionError"),
        *("ImportError", "SyntaxError", "NotImplementedError", "RecursionError", "ProgrammingError", "DataError"),
        *("IntegrityError", "NotSupportedError"),
    }
)
"""Names of errors in code, and of a database's errors about a statement or a row."""

_OF_NETWORK = frozenset(
    {
        *(errno.ETIMEDOUT, errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE, errno.ESHUTDOWN),
        *(errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.EADDRNOTAVAIL),
        *(errno.ENOTCONN, errno.EBUSY),
    }
)
_JAVA_PASSES = re.compile(
    r"(?m)^(?:Caused by)?: ((?:java\.net\.(?:Connect|NoRouteToHost|UnknownHost|SocketTimeout|Socket|PortUnreachable)Exception"
    r"|org\.apache\.kafka\.common\.errors\.(?:Timeout|Disconnect|Network|NotLeaderOrFollower|LeaderNotAvailable"
    r"|NotCoordinator|CoordinatorNotAvailable|BrokerNotAvailable)Exception|java\.util\.concurrent\.TimeoutException: Cannot fetch"
    r"|java\.sql\.SQL(?:Transient|Recoverable|NonTransientConnection|Timeout)\w*Exception|\S*\.CommunicationsException).*)$"
)
_LIBRDKAFKA_ERROR = "KafkaException"
_OF_LIBRDKAFKA = re.compile(r"KafkaError\{code=(\w+),")
_LIBRDKAFKA_PASSES = frozenset(
    {
        *("_TIMED_OUT", "_MSG_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_WAIT_COORD", "_RETRY"),
        *("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "BROKER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "LEADER_NOT_AVAILABLE"),
        *("NOT_LEADER_FOR_PARTITION", "FENCED_LEADER_EPOCH", "KAFKA_STORAGE_ERROR"),
        *("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
        "COORDINATOR_LOAD_IN_PROGRESS",
        # A broker ends the transaction of a process that stood still; the next attempt begins another one.
        *("CONCURRENT_TRANSACTIONS", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "PRODUCER_FENCED", "_FENCED", "_STATE"),
    }
)
"""Codes of librdkafka's errors after which another attempt may succeed. Names that begin with ``_`` are of the client itself."""
_RETRIED_STATUS = frozenset({408, 425, 429})
"""HTTP statuses below 500 that ask the client to try again."""


def prospect(error: BaseException) -> Prospect:
    """Return the prospect of another attempt after this error and its causes."""
    if any(map(_passes, causes(error))):
        return Prospect.PASSES
    return Prospect.STAYS if _named(error, _STAYING) and not isinstance(error, OSError) else Prospect.UNKNOWN


def passes_in_worker(trace: str) -> str | None:
    """Return the line of a trace in which the user's code in a Spark process says that something is away; None if none does.

    The last error of a trace is the one that ended it.
    """
    lines = [line.strip() for line in without_rows(trace).splitlines()]
    if "Traceback (most recent call last):" not in lines:
        return None
    errors = [line for line in lines if _head(line).endswith(_ENDINGS) and ":" in line and " " not in _head(line)]
    last = next((line for line in reversed(errors) if not line.startswith(_OF_JAVA)), None)
    name = _head(last).rpartition(".")[2] if last is not None else ""
    passes = name in _PASSING or (name == _LIBRDKAFKA_ERROR and _passes_in_librdkafka(str(last)))
    return last if passes else None


def passes_in_java(trace: str) -> str | None:
    """Return the line of a trace in which Java says that something it asks over the network is away; None if none does."""
    match = _JAVA_PASSES.search(without_rows(trace))
    return match[1].strip() if match is not None else None


_OF_JAVA = ("at ", "Caused by", "java.", "javax.", "org.", ": ")
_ENDINGS = ("Error", "Exception", "Timeout", "timeout", "gaierror", "herror", "Disconnected", "Available", "Unavailable")


def _head(line: str) -> str:
    return line.split(":", 1)[0]


def _passes(error: BaseException) -> bool:
    status = _status(error)
    if status is not None:
        return status >= 500 or status in _RETRIED_STATUS
    if isinstance(error, (socket.gaierror, socket.herror, ssl.SSLError)):
        return not isinstance(error, ssl.SSLCertVerificationError)
    if type(error).__name__ == _LIBRDKAFKA_ERROR:
        return _passes_in_librdkafka(str(error))
    return (isinstance(error, OSError) and error.errno in _OF_NETWORK) or _named(error, _PASSING)


def _passes_in_librdkafka(text: str) -> bool:
    """Return True if a text is about an error of librdkafka that may pass."""
    match = _OF_LIBRDKAFKA.search(text)
    return match is not None and match[1] in _LIBRDKAFKA_PASSES


def _status(error: BaseException) -> int | None:
    """Return the status of an HTTP response that arrived, as requests, httpx and urllib report it."""
    for status in (getattr(getattr(error, "response", None), "status_code", None), getattr(error, "code", None)):
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _named(error: BaseException, names: frozenset[str]) -> bool:
    return any(cls.__name__ in names for cls in type(error).__mro__)


def causes(error: BaseException | None) -> list[BaseException]:
    """Return an error with all the errors that led to it."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain
