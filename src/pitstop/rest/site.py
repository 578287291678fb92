"""The documentation as a site below /docs: the files of ``pitstop/site``, which ``make docs`` builds.

Like the page it holds nothing secret, and is for everybody.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import lru_cache
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pitstop.errors import NotFoundError
from pitstop.rest.page import ALWAYS, DOCS

FOLDER = "site"


def add_to(app: FastAPI) -> None:
    """Serve the site below DOCS."""
    site = _Site(directory=Path(str(resources.files("pitstop") / FOLDER)), html=True, check_dir=False)
    app.router.routes.append(Route(DOCS, _to_the_beginning, methods=["GET"]))
    app.router.routes.append(Mount(DOCS, app=GZipMiddleware(site, minimum_size=1024)))


async def _to_the_beginning(request: Request) -> Response:
    return RedirectResponse(f"{DOCS}/", headers=ALWAYS)


class _Site(StaticFiles):
    """Files that a browser asks for anew each time, and gets if they have changed; a page runs only its own scripts."""

    async def check_config(self) -> None:
        """Let a folder be missing: it may be built while the server runs."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if self.directory is None or not os.path.isfile(os.path.join(self.directory, "index.html")):
            raise NotFoundError("This installation has no documentation: 'make docs' in a checkout of Pitstop builds it.")
        return await super().get_response(path, scope)

    def file_response(self, full_path: Any, stat_result: os.stat_result, scope: Scope, status_code: int = 200) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        own = _own_scripts(str(full_path), stat_result.st_mtime_ns) if str(full_path).endswith(".html") else ()
        response.headers.update(ALWAYS | {"Cache-Control": "no-cache", "Content-Security-Policy": policy(own)})
        return response


def policy(scripts: tuple[str, ...]) -> str:
    """Return the policy of a page with these scripts of its own, each as its hash (Content-Security-Policy)."""
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *scripts)),
            # The site's theme sets styles of elements; it shows no text of users.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


@lru_cache(256)
def _own_scripts(path: str, changed: int) -> tuple[str, ...]:
    """Return the hashes of the scripts that stand in a page, as a policy has them. ``changed``: when the file was written."""
    scripts = _Scripts()
    scripts.feed(Path(path).read_text())
    return tuple(
        sorted({f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts.texts})
    )


class _Scripts(HTMLParser):
    """Collects the scripts that stand in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._within = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self._within = tag == "script" and "src" not in names and names.get("type") in (None, "", "text/javascript", "module")
        if self._within:
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self._within:
            self.texts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._within = False
