"""The description of the API as a file: ``python -m pitstop.rest.description > openapi.json``."""

from __future__ import annotations

import json
from typing import Any, cast

from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.service.server_api import ServerService


def description() -> dict[str, Any]:
    """OpenAPI 3.1, as a server gives it at /openapi.json."""
    nobody = cast(ServerService, None)  # routes are described, not called
    return create_app(nobody, Access("")).openapi()


if __name__ == "__main__":
    print(json.dumps(description(), indent=1, sort_keys=True))
