"""A shop: orders and payments by a seed, sent to Kafka, and what a job must make of them, in plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import Message, Producer

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
COUNTRIES = ("AT", "BR", "CA", "DE", "ES", "FR", "IN", "JP")
CUSTOMERS = 2_000
SECONDS_BETWEEN = 0.18
JITTER_SECONDS = 20.0
"""Orders reach the topic out of order by so much."""
PAID_SHARE = 0.9
PAYS_WITHIN_SECONDS = 540.0
CLOSING = timedelta(hours=1)
"""The event time after the last order at which the shop sends one row more to each partition, so that all windows end."""
CHUNK = 500
"""Messages that are sent at once. The producer waits for all of them, so that no partition is far ahead of another."""


@dataclass(frozen=True)
class Order:
    """An order, and the time of its payment if it is paid."""

    id: str
    customer: str
    country: str
    cents: int
    at: datetime
    paid_at: datetime | None


@dataclass
class Shop:
    """All orders of a seed, and the places in the topic ``orders`` that they have got."""

    orders: list[Order]
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Order -> its partition and offset."""

    @classmethod
    def of_seed(cls, seed: int, count: int) -> Shop:
        """Make the orders of a seed."""
        chance = random.Random(seed)
        orders = []
        for number in range(count):
            at = BEGIN + timedelta(seconds=round(number * SECONDS_BETWEEN + chance.uniform(0, JITTER_SECONDS), 3))
            paid_after = timedelta(seconds=round(chance.uniform(1, PAYS_WITHIN_SECONDS), 3))
            paid_at = at + paid_after if chance.random() < PAID_SHARE else None
            customer, country = f"c{chance.randrange(CUSTOMERS)}", chance.choice(COUNTRIES)
            orders.append(Order(f"o{number}", customer, country, chance.randrange(100, 50_000), at, paid_at))
        return cls(orders)

    def send(self, servers: str, partitions: int) -> Iterator[float]:
        """Send all orders and payments in the order of their times; give the share that comes next, before each chunk."""
        events = [(order.at, "orders", order) for order in self.orders]
        events += [(order.paid_at, "payments", order) for order in self.orders if order.paid_at is not None]
        events.sort(key=lambda event: (event[0], event[1], event[2].id))
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5})
        for begin in range(0, len(events), CHUNK):
            yield min(1.0, (begin + CHUNK) / len(events))
            for _, topic, order in events[begin : begin + CHUNK]:
                self._produce(producer, topic, order)
            producer.flush()
        at = events[-1][0] + CLOSING
        for partition in range(partitions):
            last = {"id": "closing", "customer": "closing", "country": "closing", "cents": 0, "at": at.isoformat()}
            producer.produce("orders", json.dumps(last), "closing", partition)
            producer.produce("payments", json.dumps({"id": "closed", "paid_at": at.isoformat()}), "closed", partition)
        producer.flush()

    def _produce(self, producer: Producer, topic: str, order: Order) -> None:
        if topic == "payments":
            assert order.paid_at is not None
            payment = {"id": order.id, "paid_at": order.paid_at.isoformat()}
            producer.produce("payments", json.dumps(payment), order.id)
            return

        def note(error: Any, message: Message) -> None:
            assert error is None, error
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            self.places[order.id] = (partition, offset)

        row = {"id": order.id, "customer": order.customer, "country": order.country, "cents": order.cents}
        producer.produce("orders", json.dumps(row | {"at": order.at.isoformat()}), order.customer, on_delivery=note)

    # what a job must have written

    def revenue(self) -> dict[tuple[str, datetime], tuple[int, int]]:
        """Return the number of orders and the cents of each country and minute."""
        totals: defaultdict[tuple[str, datetime], list[int]] = defaultdict(lambda: [0, 0])
        for order in self.orders:
            total = totals[order.country, order.at.replace(second=0, microsecond=0)]
            total[0] += 1
            total[1] += order.cents
        return {key: (count, cents) for key, (count, cents) in totals.items()}

    def paid(self) -> Counter[tuple[str, int, datetime]]:
        """Return id, cents and time of payment of each paid order."""
        return Counter((order.id, order.cents, order.paid_at) for order in self.orders if order.paid_at is not None)

    def customers(self, places: dict[int, int]) -> dict[str, tuple[int, int]]:
        """Return the number of orders and the cents of each customer, of the orders from these offsets (by partition) on."""
        totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for order in self.orders:
            partition, offset = self.places[order.id]
            if offset >= places.get(partition, 0):
                totals[order.customer][0] += 1
                totals[order.customer][1] += order.cents
        return {customer: (count, cents) for customer, (count, cents) in totals.items()}
