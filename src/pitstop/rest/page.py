"""The web page: one document for every address that it shows, and the files that this document names.

Both are built from ``web/`` into ``pitstop/page`` and hold nothing secret: who has not signed in gets them, too. What they show
comes from the API.
"""

from __future__ import annotations

import gzip
import secrets
from functools import cache
from importlib import resources
from mimetypes import guess_type
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from starlette.routing import Route

from pitstop.errors import NotFoundError

PLACES: Final = ("/jobs", "/submit", "/snapshots", "/maps", "/sql", "/cluster")
"""Addresses of the page beside ``/``, and above all others of it."""
DOCS: Final = "/docs"
"""The address of the documentation (rest.site)."""
_ASSETS: Final = "/assets/"
_NONCE = "{{ nonce }}"
_NEVER_CHANGES = "public, max-age=31536000, immutable"
_LEAST_COMPRESSED = 1024
"""Bytes: shorter files travel as they are."""
ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def is_page(path: str) -> bool:
    """True for the document and its files, and for the documentation: they are for everybody."""
    places = (*PLACES, DOCS)
    return path == "/" or path.startswith(_ASSETS) or any(path == place or path.startswith(f"{place}/") for place in places)


def policy(nonce: str) -> str:
    """Return the policy for the things that a browser may load for the page, and run in it (Content-Security-Policy)."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            # Charts and forms make style sheets while they run; these carry the number of this answer.
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


def router() -> APIRouter:
    """Routes beside /api/v1, which the description of the API leaves out."""
    routes = APIRouter()
    # Routes of Starlette: they take any request as it is, and ask for nothing.
    for path in ("/", *PLACES, *(f"{place}/{{rest:path}}" for place in PLACES)):
        routes.routes.append(Route(path, _document, methods=["GET"]))
    routes.routes.append(Route(f"{_ASSETS}{{name}}", _asset, methods=["GET"]))
    return routes


async def _document(request: Request) -> Response:
    nonce = secrets.token_urlsafe(16)
    if "index.html" not in _names():
        raise NotFoundError("This installation has no page: `make web` builds it.")
    text, _ = _file("index.html")
    headers = ALWAYS | {"Content-Security-Policy": policy(nonce), "Cache-Control": "no-cache"}
    return HTMLResponse(text.decode().replace(_NONCE, nonce), headers=headers)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if f"assets/{name}" not in _names():
        raise NotFoundError("The page has no file of this name: reload it.")
    try:
        content, compressed = _file(f"assets/{name}")
    except FileNotFoundError:  # another release was installed while this one runs: from now on its page is served
        _names.cache_clear()
        _file.cache_clear()
        raise NotFoundError("The page no longer has a file of this name: reload it.") from None
    headers = ALWAYS | {"Cache-Control": _NEVER_CHANGES if "-" in name else "no-cache", "Vary": "Accept-Encoding"}
    if compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = compressed, "gzip"
    return Response(content, media_type=guess_type(name)[0] or "application/octet-stream", headers=headers)


@cache
def _names() -> frozenset[str]:
    """Of all files: nothing else is ever looked for."""
    root = resources.files("pitstop") / "page"
    assets = root / "assets"
    names = {"index.html"} if (root / "index.html").is_file() else set()
    return frozenset(names | {f"assets/{file.name}" for file in assets.iterdir()} if assets.is_dir() else names)


@cache
def _file(name: str) -> tuple[bytes, bytes | None]:
    """A file that is there, and what it is compressed if that is worth it."""
    content = (resources.files("pitstop") / "page" / name).read_bytes()
    smaller = gzip.compress(content, mtime=0) if len(content) >= _LEAST_COMPRESSED else content
    return content, smaller if len(smaller) < len(content) else None
