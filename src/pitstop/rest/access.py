"""Access to the server, by a token, or by the session of a browser that has signed in with one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from urllib.parse import urlsplit

from itsdangerous import BadData, URLSafeSerializer
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from pitstop.errors import DeniedError, ForbiddenError, ForeignError, PitstopError
from pitstop.kit.wire import described
from pitstop.rest.page import is_page
from pitstop.rest.threads import reading

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json", "/sign-in"})
"""The paths that answer without a token: probes, the description, which is in the documentation anyway, and the sign-in."""
FOR_ALL = frozenset({"/api/v1/sign-in-links", "/sign-out", "/api/v1/sql"})
"""The paths that viewers may ask for with any method. The route of statements refuses those that change something."""
OWN_SITES = frozenset({"same-origin", "none"})
"""The words by which a browser says that no other site has made a request (Fetch Metadata)."""
METRICS = "/metrics"
"""The only path that the token of metrics opens."""
LOOKS = frozenset({"GET", "HEAD", "OPTIONS"})
KEY_HEADER = "Pitstop-Session-Key"
"""The header in which the page gives the key of its session, without which the cookie is worth nothing.

Browsers send a cookie to all ports of a machine. The key lies in the storage of the page's own origin, and goes to no other port.
"""
SESSION_SECONDS = 12 * 60 * 60
COPY_SECONDS = 5.0
"""The age at which the copy of the sessions that were signed out is read anew, before a session is let in."""
LINK_SECONDS = 300.0
MOST_LINKS = 100
"""Links of a role that are not used yet. The oldest of that role goes when there are more."""


class Role(StrEnum):
    """The rights of a user or program."""

    VIEWER = "viewer"
    """Look at everything."""
    OPERATOR = "operator"
    """Everything."""


@described
@dataclass(frozen=True)
class Identity:
    """The user or program that asks."""

    role: Role
    """Its rights."""
    signed_in: bool
    """True if a browser asks, by its session; else a program asks, by a token."""


@dataclass(frozen=True)
class NewSession:
    """The two halves of a session, which the browser keeps apart."""

    cookie: str
    """The value of the cookie, out of reach of scripts."""
    key: str
    """The value of KEY_HEADER, out of reach of other ports."""


@dataclass(frozen=True)
class Session:
    """Of a browser that has signed in."""

    id: str
    role: Role
    since: float
    """The time of the sign-in by a token, or by a link of one. Links that sessions ask for do not prolong it."""

    @property
    def until(self) -> float:
        """The time at which it ends by itself."""
        return self.since + SESSION_SECONDS


class EndedSessions:
    """A copy of the store's sessions that were signed out, so that no request has to ask the store for its own."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._read_at = -math.inf
        self._lock = threading.Lock()

    @property
    def too_old(self) -> bool:
        """True if another server of the store may have ended a session more than COPY_SECONDS ago that is not here."""
        return time.monotonic() - self._read_at > COPY_SECONDS

    def put(self, until: Mapping[str, float], read_at: float) -> None:
        """Take over what the store had at a time of the monotonic clock."""
        with self._lock:
            unexpired = {session: end for session, end in self._until.items() if end > time.time()}
            self._until, self._read_at = unexpired | dict(until), read_at

    def add(self, session: Session) -> None:
        with self._lock:
            self._until[session.id] = session.until

    def __contains__(self, session: Session) -> bool:
        return session.id in self._until


@dataclass(frozen=True)
class Access:
    """The tokens, names and sessions that a server lets in."""

    token: str
    """The token of operators."""
    names: frozenset[str] = frozenset()
    """Names under which the server may be called, in lower case, beside addresses and ``localhost``.

    A page of another site can make its own name lead here (DNS rebinding), but no address.
    """
    viewer_token: str | None = None
    """The token of viewers; None if there are none."""
    session_key: str = field(default_factory=secrets.token_urlsafe)
    """Signs sessions, with the tokens: from a session alone nobody can guess a token that somebody has thought up."""
    ended: EndedSessions = field(default_factory=EndedSessions, compare=False)
    metrics_token: str | None = None
    """The token of Prometheus, which opens METRICS alone; None if there is none. No browser signs in with it."""

    def refusal(self, path: str, headers: Headers, method: str = "GET") -> PitstopError | None:
        """Return the error that refuses this request; None if it is let in."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return ForeignError(f"'{host}' is not a name of this server: use its address, or start it with --host-name.")
        if method in LOOKS and is_page(path):
            return None  # a link on another site may lead here: what it opens shows nothing by itself
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if (origin is not None and urlsplit(origin).netloc != host) or (site is not None and site not in OWN_SITES):
            return ForeignError("A page of another site has asked for this: pages may only ask the server that they come from.")
        if path in OPEN:
            return None
        if self._is_of_metrics(headers):
            if path == METRICS and method in LOOKS:
                return None
            return ForbiddenError("This token is that of metrics: it may ask GET /metrics and nothing else.")
        identity = self.identity(headers)
        if identity is None:
            if self._cookie(headers) is not None and "authorization" not in headers:
                return DeniedError("The session of this browser has ended, or the request came without its key: sign in again.")
            return DeniedError(
                "The token is missing or wrong: it is in the file 'token' of the server's data folder; "
                "give it with --token-file or PITSTOP_TOKEN."
            )
        if method in LOOKS:
            return None
        if identity.signed_in and origin is None and site is None:
            return ForeignError("A request with a browser's session must name its page (Origin): a program uses a token.")
        if identity.role is Role.VIEWER and path not in FOR_ALL:
            return ForbiddenError("This token is a viewer's: it allows reading everything and changing nothing.")
        return None

    def identity(self, headers: Headers) -> Identity | None:
        """Return the identity of the sender of these headers; None if the server does not know the sender."""
        token = _bearer(headers)
        if token is not None:
            role = self.role_of(token)
            return Identity(role, False) if role is not None else None
        session = self.session(headers)
        return Identity(session.role, True) if session is not None else None

    def session(self, headers: Headers) -> Session | None:
        """The session of the browser that sends these headers; None if it has none, gives no key to it, or it has ended."""
        cookie = self._cookie(headers)
        session = self._session_in(cookie) if cookie is not None else None
        if session is None:
            return None
        # A header arrives as Latin-1, whatever its bytes were.
        its_own = hmac.compare_digest(headers.get(KEY_HEADER, "").encode("latin-1"), self._key_of(session.id).encode())
        return session if its_own and session not in self.ended else None

    async def look_for_ended(self, headers: Headers, read: Callable[[], Mapping[str, float]]) -> None:
        """Read the sessions that were signed out at any server of the store, if a session asks and the copy is too old."""
        if self.ended.too_old and self.session(headers) is not None:
            began = time.monotonic()
            self.ended.put(await reading(read), began)

    @staticmethod
    def _cookie(headers: Headers) -> str | None:
        return cookie_parser(headers.get("cookie", "")).get(session_cookie(headers.get("host", "")))

    def role_of(self, token: bytes) -> Role | None:
        """Return the role of a token; None if it is no token of this server."""
        matching_role = None
        for role, own in ((Role.VIEWER, self.viewer_token), (Role.OPERATOR, self.token)):
            if own is not None and hmac.compare_digest(token, own.encode()):
                matching_role = role
        return matching_role

    def new_session(self, role: Role, since: float | None = None) -> NewSession:
        """Return a session that stands for this role for SESSION_SECONDS after ``since``, by default now, or until a token is
        another one."""
        session_id = secrets.token_urlsafe(16)
        cookie = self._signer.dumps([session_id, role.value, time.time() if since is None else since])
        return NewSession(cookie, self._key_of(session_id))

    @cached_property
    def _secret(self) -> str:
        return "\0".join((self.session_key, self.token, self.viewer_token or ""))

    @cached_property
    def _signer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self._secret, salt="bound session", signer_kwargs={"digest_method": hashlib.sha256})

    def _key_of(self, session_id: str) -> str:
        digest = hmac.digest(self._secret.encode(), f"key of session {session_id}".encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def _session_in(self, cookie: str) -> Session | None:
        try:
            session_id, role, since = self._signer.loads(cookie)
            session = Session(str(session_id), Role(role), float(since))
        except (BadData, ValueError, TypeError):
            return None
        return session if time.time() < session.until else None

    def _is_of_metrics(self, headers: Headers) -> bool:
        token = _bearer(headers)
        return token is not None and self.metrics_token is not None and hmac.compare_digest(token, self.metrics_token.encode())

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return name == "localhost" or name in self.names or _is_address(name)


class Links:
    """Links that sign a browser in, once each and within five minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, tuple[Role, float | None, float]] = {}
        self._lock = threading.Lock()

    def new(self, role: Role, since: float | None = None) -> str:
        """The code of a new link; ``since``: when the session was signed in that asks for it."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            of_role = [other for other, (its_role, _, _) in self._open.items() if its_role is role]
            if len(of_role) >= MOST_LINKS:
                del self._open[of_role[0]]
            self._open[code] = role, since, self._clock() + LINK_SECONDS
        return code

    def use(self, code: str) -> tuple[Role, float | None] | None:
        """(what the link of this code stands for, since when); None if there is none, any more."""
        with self._lock:
            role, since, until = self._open.pop(code, (None, None, 0.0))
        return (role, since) if role is not None and self._clock() < until else None


def session_cookie(host: str) -> str:
    """The name of the cookie of a server: cookies of one machine go to all its ports."""
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    return f"pitstop-session-{port or 'web'}"


def _bearer(headers: Headers) -> bytes | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    # A header arrives as Latin-1, whatever its bytes were.
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
