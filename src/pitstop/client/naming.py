"""The names that a server knows, for the completion of words in a shell: asked once, with little patience."""

from __future__ import annotations

from typing import Any

import httpx2

from pitstop.client.local_server import LocalToken
from pitstop.machine.tcp import loopback_addresses

SECONDS = 1.0
"""The longest that somebody who has pressed Tab waits for a server."""


def things(url: str, token: str | None, path: str, **parameters: Any) -> list[dict[str, Any]]:
    """Return the things that a path of the API lists. Raises whatever goes wrong."""
    base = httpx2.URL((url if "://" in url else f"http://{url}").rstrip("/") + "/api/v1")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    proxied = not loopback_addresses(base.host)
    auth = None if token else LocalToken()
    with httpx2.Client(base_url=base, headers=headers, timeout=SECONDS, auth=auth, trust_env=proxied) as http:
        answer = http.get(path, params=parameters)
        answer.raise_for_status()
        return list(answer.json())
