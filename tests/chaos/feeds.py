"""The feeds of the three jobs. They lie outside the small disk: what happened has happened, whatever goes wrong."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import astuple
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from tests.chaos.events import KEYS, Event, closing, event, key_name, wild

BEAT_SECONDS, BEAT_EVENTS = 0.5, 10
WHOLE = 30
"""Feeds end at a multiple of this: no group, pair or window is cut by the end."""


class FilesFeed:
    """A JSON file for each beat."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._files = folder, 0
        folder.mkdir(parents=True)

    def take(self, found: list[Event]) -> None:
        self._files += 1
        path = self.folder / f"{self._files:09d}.json"
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(event.values()) + "\n" for event in found))
        hidden.rename(path)


class CsvFeed:
    """Lines that are appended to one file, the last one torn now and then; the file is rotated and truncated on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "events.csv"
        folder.mkdir(parents=True)
        self._parts = 0

    def take(self, found: list[Event]) -> None:
        text = "".join(",".join(map(str, astuple(event))) + "\n" for event in found)
        torn = len(text) - 7
        for part in (text[:torn], text[torn:]):
            with self.file.open("a") as file:
                file.write(part)

    def rotate(self) -> None:
        """As logrotate does: by renaming. The next line begins a new file."""
        self._parts += 1
        if self.file.exists():
            self.file.rename(self.file.with_name(f"events-{self._parts}.csv"))

    def truncate(self) -> None:
        """Write the file over from its beginning. Only what has been read may go."""
        self.file.open("w").close()


class Answer(StrEnum):
    """How the HTTP server answers."""

    RIGHT = "right"
    ERROR = "500"
    GARBAGE = "garbage"
    HALF = "half a body"
    NOTHING = "nothing"
    OLDER = "an older sequence"


class HttpFeed:
    """``GET ?since=N&limit=M``: the events after N; or wrong answers."""

    def __init__(self) -> None:
        self.answer = Answer.RIGHT
        self._events: list[Event] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/events"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, found: list[Event]) -> None:
        self._events += found

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = {name: int(values[0]) for name, values in parse_qs(urlsplit(self.path).query).items()}
                status, body, promised = feed._answered(asked.get("since", -1), asked.get("limit", 200))
                if status == 0:
                    return  # the connection is closed without a word
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(promised))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _answered(self, since: int, limit: int) -> tuple[int, bytes, int]:
        """Status (0: none), body, and the length that is promised."""
        right = json.dumps([event.values() for event in self._events[since + 1 : since + 1 + limit]]).encode()
        match self.answer:
            case Answer.ERROR:
                return 500, b"{}", 2
            case Answer.GARBAGE:
                return 200, b"<html>busy</html>", 17
            case Answer.HALF:
                return 200, right[: len(right) // 2], len(right)
            case Answer.NOTHING:
                return 0, b"", 0
            case Answer.OLDER:
                # A full page of what was asked for before. A server that has fewer, and only such, has begun anew by its looks.
                older = json.dumps([event.values() for event in self._events[max(0, since - limit) : since]]).encode()
                return 200, older, len(older)
        return 200, right, len(right)


class Table:
    """A folder with a name for each key. It is written over, or gone, or torn for a while: never other names."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._aside = folder, folder.with_name(f".{folder.name}")
        self._versions = 0
        self.write_over()

    def write_over(self) -> None:
        """The same rows in another file, as a batch job writes them that deletes what was there before."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._versions += 1
        keys = list(range(KEYS))
        rows = pa.table({"key": pa.array(keys, pa.int64()), "name": list(map(key_name, keys))})
        hidden = self.folder / ".part"
        pq.write_table(rows, hidden)
        hidden.rename(self.folder / f"part-{self._versions}.parquet")

    def take_away(self) -> None:
        self.folder.rename(self._aside)

    def bring_back(self) -> None:
        self._aside.rename(self.folder)

    def tear(self) -> None:
        """Cut its file in the middle."""
        for path in self.folder.glob("*.parquet"):
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) // 2])


class Feed(Protocol):
    """What has events."""

    def take(self, found: list[Event]) -> None: ...


class Beats:
    """Feeds that all have the same events, and the thread that lets them have so many each beat."""

    def __init__(self, *feeds: Feed) -> None:
        self._feeds = feeds
        self.count = 0
        """So many events has each of them had."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="feeds")

    def start(self) -> None:
        self._thread.start()

    def pause(self) -> None:
        """Nothing happens until :meth:`resume`."""
        self._lock.acquire()

    def resume(self) -> None:
        self._lock.release()

    def stop(self) -> int:
        """No more events but those that close all windows; how many there were before."""
        self._ended.set()
        self._thread.join()
        self._take(map(event, range(self.count, -(-self.count // WHOLE) * WHOLE)))
        count = self.count
        self._take(map(closing, range(count, count + WHOLE)))
        return count

    def close_more(self) -> None:
        """Some more of the events that close all windows: the watermark rises behind the epoch that reads them."""
        self._take(map(closing, range(self.count, self.count + WHOLE)))

    def close(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with self._lock:
                self._take(map(event, range(self.count, self.count + BEAT_EVENTS)))

    def _take(self, found: Iterator[Event]) -> None:
        taken = list(found)
        if taken:
            for feed in self._feeds:
                feed.take(taken)
            self.count += len(taken)


class Feeds(Beats):
    """Files, lines and an HTTP server; a table, and the mood of a sink."""

    def __init__(self, folder: Path) -> None:
        self.files, self.lines, self.objects = FilesFeed(folder / "files"), CsvFeed(folder / "lines"), HttpFeed()
        self.table, self.mood = Table(folder / "names"), folder / "mood"
        self.mood.write_text("")
        super().__init__(self.files, self.lines, self.objects)

    def add_wild(self) -> None:
        """Some events of another century among those of the files and lines."""
        with self._lock:
            for feed in (self.files, self.lines):
                feed.take([wild(number) for number in range(3)])

    def close(self) -> None:
        super().close()
        self.objects.close()
