"""The Python client: the service over HTTP, and handles for people."""

from pitstop.client.handles import Client, JobHandle, MapHandle, connect
from pitstop.client.http import HttpService
from pitstop.client.listener import StatusListener
from pitstop.client.rows import SqlRows

__all__ = ["Client", "HttpService", "JobHandle", "MapHandle", "SqlRows", "StatusListener", "connect"]
