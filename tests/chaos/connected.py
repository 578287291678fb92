"""Three jobs that read a topic of Kafka, and write topics, tables of PostgreSQL, and Delta tables in an object store."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import KafkaException, Message, Producer

from tests.brokers.broker import APACHE, Broker
from tests.chaos.cluster import ChaosFailedError, Cluster
from tests.chaos.events import LAST_KEY, Event
from tests.chaos.feeds import Beats
from tests.chaos.lake import Lake, ThroughLake
from tests.chaos.outputs import Difference, difference
from tests.chaos.postgres import Postgres
from tests.chaos.reference import Row, Rows, rolled_of_keys, totals, windows
from tests.wires import Wire

from kafka_topics import CommittedReader, committed_rows  # isort: skip

PARTITIONS = 3
SECRET = "CHAOS_DATABASE"
KEY = "CHAOS_KEY"
"""The secret with both parts of the key of the object store."""
ROLLED, WINDOWS, TOTALS = ("seq", "key", "n", "total"), ("key", "start", "n", "total"), ("key", "n", "total")
TABLES = """
CREATE TABLE rolled (seq bigint, key bigint, n bigint, total bigint);
CREATE TABLE totals (key bigint PRIMARY KEY, n bigint, total bigint);
CREATE TABLE windows (key bigint, start bigint, n bigint, total bigint, PRIMARY KEY (key, start));
"""
LOOK_SECONDS = 2


class TopicFeed:
    """Events as messages, those of a key in one partition. The next ones come once these have arrived."""

    def __init__(self, servers: Callable[[], str]) -> None:
        self._servers = servers
        self._producer: Producer | None = None

    def take(self, found: list[Event]) -> None:
        # Partitions must not be far apart: there is no watermark for each of them, so rows of a slow one would be late.
        if self._producer is None:
            settings: dict[str, Any] = {"bootstrap.servers": self._servers(), "log_level": 0}
            self._producer = Producer(settings | {"enable.idempotence": True, "message.timeout.ms": 0})
        for event in found:
            partition = (event.seq if event.key == LAST_KEY else event.key) % PARTITIONS
            self._producer.produce("events", json.dumps(event.values()), str(event.key), partition, on_delivery=arrived)
        while self._producer.flush(1):
            pass


def arrived(error: Any, message: Message) -> None:
    if error is not None:
        raise KafkaException(error)


class ThroughTopic:
    """How far the committed messages of a topic reach."""

    def __init__(self, servers: Callable[[], str], topic: str) -> None:
        self._servers, self._topic, self._newest = servers, topic, -1
        self._reader: CommittedReader | None = None
        self.rows: Counter[Row] = Counter()

    def has(self, seq: int) -> bool:
        if self._reader is None:
            self._reader = CommittedReader(self._servers(), self._topic, PARTITIONS)
        for row in rows_of(self._reader.read(LOOK_SECONDS)[0], ROLLED):
            self.rows[row] += 1
            self._newest = max(self._newest, int(row[0] or 0))
        return self._newest > seq


class ThroughTable:
    """How far the rows of a table reach; one that is away has none."""

    def __init__(self, database: Callable[[], str]) -> None:
        self._database = database

    def has(self, seq: int) -> bool:
        with suppress(psycopg.Error):
            newest = rows_in(self._database(), "SELECT max(seq) FROM rolled")[0][0]
            return newest is not None and newest > seq
        return False


class Connected(Cluster):
    """A broker, a database and an object store that die, stand still and answer late."""

    jobs = ("topics", "tables", "lakes")
    members = 0

    def __init__(self, folder: Path, small: Path, spares: int) -> None:
        super().__init__(folder, small, spares)
        self._broker_folder = folder / "broker"
        self._lake_folder = folder / "lake"
        self.database = Postgres(TABLES)
        host, port = re.findall(r"@([^:/]*):(\d+)/", self.database.url)[0]
        self.database_wire, self.broker_wire = Wire(host, int(port)), Wire("127.0.0.1", 0)
        self._url = self.database.url.replace(f"@{host}:{port}/", f"@{host}:{self.database_wire.port}/")
        self.broker: Any = None
        self.lake: Any = None

    def start(self) -> None:
        """Return once all jobs have written something."""
        # The small broker names its own port to clients: no wire leads to it.
        settings = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.broker_wire.port}"}
        self.broker = Broker(self._broker_folder, settings=settings)
        self.broker_wire.lead_to(self.broker.port)
        self.servers = f"127.0.0.1:{self.broker_wire.port}" if APACHE else self.broker.servers
        for topic in ("events", "rolled", "windows"):
            self.broker.make(topic, PARTITIONS)
        os.environ[f"PITSTOP_SECRET_{SECRET}"] = self._url
        os.environ[f"PITSTOP_SECRET_{KEY}"] = "test"
        self.lake = Lake(self._lake_folder)
        super().start()

    def close(self) -> None:
        """End whatever was started, in whatever state it is."""
        self.database.go_on()
        self.database.start()
        if self.broker is not None:
            self.broker.go_on()
        super().close()
        if self.broker is not None:
            self.broker.kill()
        if self.lake is not None:
            self.lake.close()
        for wire in (self.database_wire, self.broker_wire):
            wire.close()

    def keep_logs(self, folder: Path) -> None:
        super().keep_logs(folder)
        for log in self._broker_folder.rglob("broker.log"):
            shutil.copyfile(log, folder / "broker.log")

    def wait_settled(self) -> None:
        """All jobs run, and no event has come through twice."""
        super().wait_settled()
        twice = [f"topic: {row}" for row, times in self.through["topics"].rows.items() if times > 1]
        in_lake = Counter(self.lake.rows("rolled", ROLLED))
        twice += [f"lake: {row}" for row, times in in_lake.items() if times > 1]
        count = "SELECT seq, key, min(n), min(total), count(*) FROM rolled GROUP BY seq, key HAVING count(*) > 1"
        twice += [f"table: {row}" for row in rows_in(self.database.url, count)]
        if twice:
            raise ChaosFailedError(f"Rows have come twice: {twice[:5]}")

    def _make_feeds(self, folder: Path) -> Beats:
        return Beats(TopicFeed(lambda: self.servers))

    def _make_through(self) -> dict[str, Any]:
        return {
            "topics": ThroughTopic(lambda: self.servers, "rolled"),
            "tables": ThroughTable(lambda: self.database.url),
            "lakes": ThroughLake(lambda: self.lake, "rolled"),
        }

    def _arguments(self, job: str, version: str = "") -> tuple[str, ...]:
        writes = {"topics": (), "tables": (f"secret:{SECRET}",), "lakes": (self.lake.url,)}
        return (self.servers, *writes[job], version or str(self._version))

    def _differences(self, count: int) -> list[Difference]:
        rolled, in_windows = rolled_of_keys(count), windows(count)
        rows = {topic: committed_rows(self.servers, topic, PARTITIONS) for topic in ("rolled", "windows")}
        return [
            difference("topic rolled", of_events(rows_of(rows["rolled"], ROLLED), ROLLED, count), rolled),
            difference("topic windows", of_events(rows_of(rows["windows"], WINDOWS), WINDOWS, count), in_windows),
            difference("table rolled", of_events(self._table("rolled", ROLLED), ROLLED, count), rolled),
            difference("table totals", of_events(self._table("totals", TOTALS), TOTALS, count), totals(count)),
            difference("table windows", of_events(self._table("windows", WINDOWS), WINDOWS, count), in_windows),
            difference("lake rolled", of_events(self.lake.rows("rolled", ROLLED), ROLLED, count), rolled),
            difference("lake windows", of_events(self.lake.rows("windows", WINDOWS), WINDOWS, count), in_windows),
        ]

    def _table(self, name: str, columns: tuple[str, ...]) -> list[Row]:
        return rows_in(self.database.url, f"SELECT {', '.join(columns)} FROM {name}")


def rows_in(database: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database, connect_timeout=LOOK_SECONDS) as connection:
        return connection.execute(query.encode()).fetchall()


def rows_of(values: list[dict[str, Any]], columns: tuple[str, ...]) -> list[Row]:
    """Return the values of some columns of JSON objects."""
    return [tuple(value.get(column) for column in columns) for value in values]


def of_events(rows: list[Row], columns: tuple[str, ...], count: int) -> Rows:
    """Count the rows that do not come of the events that close all windows."""
    key, seq = columns.index("key"), columns.index("seq") if "seq" in columns else None
    return Counter(row for row in rows if row[key] != LAST_KEY and (seq is None or int(row[seq] or 0) < count))
