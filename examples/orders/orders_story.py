"""``make story-kafka``: a job on topics of Kafka is killed, saved, changed and killed again, and its three outputs are exact."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from deltalake import DeltaTable
from psycopg.sql import SQL, Identifier

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "fleet"))

from kafka_node import KafkaNode  # noqa: E402
from kafka_topics import committed_rows, make_topics  # noqa: E402
from shop import Shop  # noqa: E402
from stack import Stack, wait_until  # noqa: E402
from story_checks import check, step  # noqa: E402

from pitstop.client import Client, JobHandle  # noqa: E402
from pitstop.model.job import JobState  # noqa: E402

PARTITIONS = 3
SECONDS = 400
SECRET = "ORDERS_DATABASE"
TABLES = """
CREATE TABLE revenue (country text, window_start timestamptz, window_end timestamptz, orders bigint, cents bigint,
    PRIMARY KEY (country, window_start));
CREATE TABLE customers (customer text PRIMARY KEY, orders bigint, spent bigint);
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if "PITSTOP_TEST_POSTGRES" not in os.environ:
        raise SystemExit("The story needs a PostgreSQL: run it by `make story-kafka`.")
    folder = Path(tempfile.mkdtemp(prefix="pitstop-story-"))
    try:
        tell(folder, options.orders, options.seed, os.environ["PITSTOP_TEST_POSTGRES"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def database_of_the_story(server: str) -> Iterator[str]:
    """Make a database with the tables of the job on a server; give its URL."""
    name = f"orders_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    url = f"{server.rpartition('/')[0]}/{name}"
    try:
        with psycopg.connect(url) as connection:
            connection.execute(TABLES)
        yield url
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def tell(folder: Path, count: int, seed: int, server: str) -> None:
    """Tell the story with so many orders of a seed."""
    step(f"Start a Kafka of one node, a database, and make {count:,} orders of seed {seed}")
    shop, node, lake = Shop.of_seed(seed, count), KafkaNode(folder / "kafka"), str(folder / "lake")
    try:
        node.start()
        make_topics(node.servers, ("orders", "payments", "paid-orders"), PARTITIONS)
        with database_of_the_story(server) as database, Stack(folder / "stack", spares=1) as stack:
            os.environ[f"PITSTOP_SECRET_{SECRET}"] = database
            client = stack.start_server()
            check(True, f"Kafka answers at {node.servers}, the control plane at {stack.url}")
            with Producing(shop, node.servers) as producing:
                places = change_under_load(client, stack, node.servers, lake, producing)
            judge(client.job("orders"), shop, places, database, lake, node.servers)
    finally:
        node.stop()
    print("\nThe job was killed, changed and killed again while orders came in, and nothing was missed or doubled.")


def change_under_load(client: Client, stack: Stack, servers: str, lake: str, producing: Producing) -> dict[int, int]:
    """Kill, save, change and kill the job; return the offsets of ``orders`` from which the second version reads."""
    arguments = (servers, f"secret:{SECRET}", lake)
    step("Submit the job: topics orders and payments to PostgreSQL, a Delta table and the topic paid-orders")
    job = client.submit(HERE / "orders.py", args=arguments, name="orders")
    producing.go_on(0.3)
    wait_until(lambda: rows_read(job) > 0, SECONDS, "the first rows")
    check(True, f"it has read {rows_read(job):,} messages")

    kill(stack, job, producing, 0.5)

    step("Save its state by a name and cancel it: pitstop save-snapshot -C orders before-the-change")
    record = job.cancel_and_export_snapshot("before-the-change")
    check(record.bytes > 0, f"the snapshot holds epoch {record.epoch}, {record.bytes:,} bytes")
    producing.go_on(0.7)
    offsets = client.service.snapshot("before-the-change").offsets["orders"]
    places = {int(number): at for number, at in json.loads(next(iter(offsets.values())))["at"]["orders"].items()}

    step("Start the second version, with one more stage with state: pitstop submit -s before-the-change orders_v2.py")
    job = client.submit(HERE / "orders_v2.py", args=arguments, name="orders", initial_snapshot="before-the-change")
    wait_until(lambda: rows_read(job) > 0, SECONDS, "rows of the second version")
    check(True, f"it goes on behind {sum(places.values()):,} orders")

    kill(stack, job, producing, 1.0)
    return places


def kill(stack: Stack, job: JobHandle, producing: Producing, share: float) -> None:
    """End all processes of the job's run by SIGKILL while orders come, and wait until it has gone on by itself."""
    step("Kill the processes of the job: kill -9")
    rows = rows_read(job)
    producing.go_on(share)
    token = stack.kill_run(job)
    wait_until(lambda: job.details.token > token and rows_read(job) > rows, SECONDS, "rows after the kill")
    check(True, f"it has gone on by itself, in run {job.details.token}")


def judge(job: JobHandle, shop: Shop, places: dict[int, int], database: str, lake: str, servers: str) -> None:
    """Let the job read the rest, and compare all that it has written with what plain Python makes of the orders."""
    step("Let the job read the rest, and compare its outputs with what plain Python makes of the same orders")
    revenue, paid, customers = shop.revenue(), shop.paid(), shop.customers(places)
    wait_until(lambda: len(rows_of(database, "revenue")) >= len(revenue), SECONDS, "the last windows")
    wait_until(lambda: sum(total for _, total in customers_in(database).values()) >= sum_of(customers), SECONDS, "the totals")
    wait_until(lambda: paid_in(lake).total() >= paid.total(), SECONDS, "the last paid orders")
    wait_until(lambda: paid_messages(servers).total() >= paid.total(), SECONDS, "their messages")
    job.suspend()
    written = {(country, start): (orders, cents) for country, start, _, orders, cents in rows_of(database, "revenue")}
    check(written == revenue, f"PostgreSQL: revenue of {len(revenue):,} minutes and countries")
    check(customers_in(database) == customers, f"PostgreSQL: {len(customers):,} customers, counted from the snapshot on")
    check(paid_in(lake) == paid, f"Delta: {paid.total():,} paid orders, each once")
    check(paid_messages(servers) == paid, f"Kafka: {paid.total():,} messages of paid orders, each once")


def sum_of(totals: dict[str, tuple[int, int]]) -> int:
    return sum(cents for _, cents in totals.values())


def rows_read(job: JobHandle) -> int:
    """Return the number of rows that the job has read; end the story if it has failed."""
    details = job.details
    if details.status is JobState.FAILED:
        check(False, f"the job has failed: {details.failure}")
    return details.progress.input_rows


def rows_of(database: str, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table, without the shop's closing one."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(SQL("SELECT * FROM {}").format(Identifier(table))).fetchall()
    return [row for row in rows if row[0] != "closing"]


def customers_in(database: str) -> dict[str, tuple[int, int]]:
    return {customer: (orders, cents) for customer, orders, cents in rows_of(database, "customers")}


def paid_in(lake: str) -> Counter[tuple[str, int, datetime]]:
    """Return the rows of the Delta table."""
    if not Path(lake, "_delta_log").exists():
        return Counter()
    rows = DeltaTable(lake).to_pyarrow_table(columns=["id", "cents", "paid_at"]).to_pylist()
    return Counter((row["id"], row["cents"], row["paid_at"]) for row in rows)


def paid_messages(servers: str) -> Counter[tuple[str, int, datetime]]:
    """Return the rows of ``paid-orders`` that a reader of committed ones finds."""
    rows = committed_rows(servers, "paid-orders", PARTITIONS)
    return Counter((row["id"], row["cents"], datetime.fromisoformat(row["paid_at"])) for row in rows)


class Producing:
    """A thread that sends a shop's messages while the job runs."""

    def __init__(self, shop: Shop, servers: str) -> None:
        self._shop, self._servers = shop, servers
        self._share, self._more = 0.0, threading.Condition()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._send, name="shop")

    def __enter__(self) -> Producing:
        self._thread.start()
        return self

    def go_on(self, share: float) -> None:
        """Let the shop send messages up to this share of them all."""
        with self._more:
            self._share = share
            self._more.notify_all()

    def __exit__(self, *_: object) -> None:
        self.go_on(1.0)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _send(self) -> None:
        try:
            for share in self._shop.send(self._servers, PARTITIONS):
                with self._more:
                    while share > self._share:
                        self._more.wait()
        except BaseException as error:
            self._error = error


if __name__ == "__main__":
    main()
