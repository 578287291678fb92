"""The Python client: the service over HTTP, and handles for people.

Its parts are imported on first use: completion in a shell needs one small module of them, at each press of Tab.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitstop.client.handles import Client, connect
    from pitstop.client.http import HttpService
    from pitstop.client.job_handle import JobHandle
    from pitstop.client.listener import StatusListener
    from pitstop.client.map_handle import MapHandle
    from pitstop.client.rows import SqlRows

__all__ = ["Client", "HttpService", "JobHandle", "MapHandle", "SqlRows", "StatusListener", "connect"]

_MODULES = {
    **dict.fromkeys(("Client", "connect"), "handles"),
    "JobHandle": "job_handle",
    "MapHandle": "map_handle",
    "HttpService": "http",
    "StatusListener": "listener",
    "SqlRows": "rows",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
