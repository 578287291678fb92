"""Both simulators beside a broker: the topic holds what they emit, each ping once."""

import dataclasses
import itertools
import json
import signal
from contextlib import closing

import pytest
from fleetsim.world import World

from tests.brokers.broker import Broker

from .conftest import until


@pytest.fixture
def broker(tmp_path):
    broker = Broker(tmp_path / "broker")
    broker.make("pings")
    try:
        yield broker
    finally:
        broker.kill()


def expected(pings, provider):
    """Pings of a provider as rows of the topic, by their vehicle and time."""
    rows = [json.loads(json.dumps(dataclasses.asdict(ping))) | {"provider": provider} for ping in pings]
    return sorted(rows, key=lambda row: (row["vin"], row["time"]))


def rows_of(broker):
    messages = broker.messages("pings")
    rows = [json.loads(value) for _, value, _ in messages]
    assert [key.decode() for key, _, _ in messages] == [row["vin"] for row in rows]
    return sorted(rows, key=lambda row: (row["vin"], row["time"]))


def test_alpha_sends_each_ping_once(simulate, broker, tmp_path):
    options = ("--dir", tmp_path / "alpha", "--servers", broker.servers, "--until-pings", 500)
    code, _, errors = simulate("alpha", "--seed", 5, "--speedup", 1e9, *options).ended()
    assert code == 0, errors
    assert rows_of(broker) == expected(itertools.islice(World(5).alpha_pings(), 500), "alpha")


def test_beta_has_sent_all_that_it_made_when_it_says_that_it_is_frozen(simulate, broker):
    beta = simulate("beta", "--seed", 5, "--speedup", 3000, "--servers", broker.servers)
    beta.line()
    until(lambda: len(broker.messages("pings")) > 200, "pings of beta")
    beta.signal(signal.SIGUSR1)
    count = beta.line()["pings"]
    assert rows_of(broker) == expected(itertools.islice(World(5).beta_pings(), count), "beta")


def test_rows_are_read_on_from_where_the_read_before_ended_without_those_of_transactions_that_were_aborted(broker):
    from kafka_topics import CommittedReader

    with closing(CommittedReader(broker.servers, "pings", 2)) as reader:
        broker.send_numbers("pings", range(10), transaction="one")
        broker.send_numbers("pings", range(10, 20), transaction="two", commit=False)
        rows, whole = reader.read()
        assert whole
        assert sorted(row["n"] for row in rows) == list(range(10))
        assert reader.read() == ([], True)
        broker.send_numbers("pings", range(20, 23), transaction="two")
        rows, whole = reader.read()
        assert whole
        assert sorted(row["n"] for row in rows) == [20, 21, 22]
        with broker.transaction("open") as producer:
            producer.produce("pings", json.dumps({"n": 23}), partition=0)
            producer.flush()
            assert reader.read()[0] == []
