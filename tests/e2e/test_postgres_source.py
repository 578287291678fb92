"""A job that reads a table of PostgreSQL is updated and killed while several clients write it: each row is counted once."""

import os
import random
import threading

import psycopg
import pytest

from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

COUNTING = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="500 ms")
def counting(url):
    p = ps.Pipeline()
    orders = p.read_from(ps.sources.postgres(url, "orders", "id bigint, shop string"), name="orders")
    orders.write_to(ps.sinks.postgres(url, "copies"), name="copies")
    counted = orders.group_by("shop").rolling_aggregate("counted", seen=ps.count())
    counted.write_to(ps.sinks.map("counts", key="shop"), name="counts")
    {more}
    return p
"""
ONE_STAGE_MORE = """orders.group_by("shop").rolling_aggregate("highest", newest=ps.max("id")).write_to(
        ps.sinks.map("newest", key="shop"), name="newest")"""
SHOPS, WRITERS = 5, 4


@pytest.fixture
def url():
    if "PITSTOP_TEST_POSTGRES" not in os.environ:
        pytest.skip("there is no PostgreSQL here: make test-postgres")
    from tests.postgres.server import new_database

    made = new_database()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id bigserial, shop text, xid xid8 NOT NULL DEFAULT pg_current_xact_id())")
        connection.execute("CREATE INDEX ON orders (xid)")
        connection.execute("CREATE TABLE copies (id bigint, shop text)")
    return made


def write(url, writer, over):
    """Write orders in transactions of several lengths, of which some are rolled back."""
    chosen = random.Random(writer)
    with psycopg.connect(url) as connection:
        while not over.wait(0.01):
            for _ in range(chosen.randrange(1, 12)):
                connection.execute("INSERT INTO orders (shop) VALUES (%s)", (f"shop-{chosen.randrange(SHOPS)}",))
                over.wait(chosen.random() / 20)
            if chosen.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()
        connection.commit()


def rows(url, statement):
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchall()


def test_postgres_orders_of_clients_that_write_at_once_are_counted_once_over_an_update_and_a_kill(url, tmp_path):
    from stack import Stack, wait_until

    one, two, over = tmp_path / "one.py", tmp_path / "two.py", threading.Event()
    one.write_text(COUNTING.format(more=""))
    two.write_text(COUNTING.format(more=ONE_STAGE_MORE))
    writers = [threading.Thread(target=write, args=(url, writer, over)) for writer in range(WRITERS)]

    def count():
        return sum(entry["seen"] for entry in client.map("counts").entries().values())

    try:
        for writer in writers:
            writer.start()
        with Stack(tmp_path / "stack", spares=1) as stack:
            client = stack.start_server()
            job = client.submit(one, args=(url,))
            wait_until(lambda: job.status is JobState.RUNNING and count() > 0, 200, "the first counts")
            job.update(two)
            wait_until(lambda: client.map("newest").size() == SHOPS, 200, "the new stage")
            token, before = stack.kill_run(job), count()
            wait_until(lambda: job.details.token > token and count() > before, 200, "counts after the kill")
            over.set()
            for writer in writers:
                writer.join()
            orders = rows(url, "SELECT id, shop FROM orders ORDER BY id")
            wait_until(lambda: count() >= len(orders), 100, "all orders")
            expected = {f"shop-{shop}": sum(name == f"shop-{shop}" for _, name in orders) for shop in range(SHOPS)}
            assert {key: entry["seen"] for key, entry in client.map("counts").entries().items()} == expected
            copies = "SELECT id, shop FROM copies ORDER BY id"
            wait_until(lambda: len(rows(url, copies)) >= len(orders), 60, "the copies of the last epoch")
            assert rows(url, copies) == orders
            highest = dict(rows(url, "SELECT shop, max(id) FROM orders GROUP BY shop"))
            newest = {key: entry["newest"] for key, entry in client.map("newest").entries().items()}
            assert newest == highest
    finally:
        over.set()
        for writer in writers:
            writer.join()
