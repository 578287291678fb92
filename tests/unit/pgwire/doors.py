"""A listener for PostgreSQL's protocol in a thread, before a server that has two mappings and nothing else."""

import asyncio
import socket
import struct
import threading
from contextlib import contextmanager

import psycopg

from pitstop.errors import UsageError
from pitstop.pgwire import server
from pitstop.service.sql_results import Column, Result

TOKEN = "a-token-of-a-viewer"
CARS = "CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT, at TIMESTAMP, ok BOOLEAN) TYPE IMap"
ODD = 'CREATE MAPPING "it\'s \\ ""odd""" (__key VARCHAR, "a\'b" VARCHAR, "$$" BIGINT) TYPE IMap'


class OneServer:
    """What the door asks of the server: its mappings."""

    def __init__(self, mappings=(CARS, ODD)):
        self._mappings = mappings

    def sql(self, text, stop):
        if text != "SELECT statement FROM information_schema.mappings":
            raise UsageError(f"The server was asked: {text[:200]}")
        yield Result.of((Column("statement", "VARCHAR"),), [(each,) for each in self._mappings])

    def close(self):
        pass


@contextmanager
def door(limits=None, mappings=(CARS, ODD)):
    """Where clients connect: (host, port)."""
    ready, place = threading.Event(), []
    loop = asyncio.new_event_loop()

    def listening(host, port):
        place.append((host, port))
        ready.set()

    more = () if limits is None else (limits,)
    work = server.listen("127.0.0.1", 0, lambda: TOKEN, lambda: OneServer(mappings), listening, *more)
    task = loop.create_task(work)

    def run():
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            loop.run_until_complete(loop.shutdown_asyncgens())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield place[0]
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
        assert not thread.is_alive()


def connect(place, **options):
    """A client with the right password."""
    host, port = place
    given = {"host": host, "port": port, "user": "viewer", "dbname": "pitstop", "password": TOKEN, "autocommit": True}
    return psycopg.connect(**(given | options), connect_timeout=20)


def startup(**options):
    """The first packet of a client."""
    said = b"".join(f"{name}\0{value}\0".encode() for name, value in ({"user": "viewer"} | options).items()) + b"\0"
    return struct.pack("!ii", len(said) + 8, 196608) + said


def everything(connection):
    """What comes until the other side ends the connection."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionError:
        pass
    return found


def stranger(place, timeout=20):
    """A connection that has said nothing yet."""
    return socket.create_connection(place, timeout=timeout)
