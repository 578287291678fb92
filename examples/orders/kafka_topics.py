"""Topics of Kafka: make them, and read the rows that transactions have committed to them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

Row = dict[str, Any]
"""The JSON object of a message."""

BATCH = 10_000
END_SECONDS = 60.0


def make_topics(servers: str, names: Sequence[str], partitions: int) -> None:
    """Make topics of one replica; return once the broker has them."""
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        made.result(60)


class CommittedReader:
    """Reads the committed rows of a topic, in each call from where the call before has ended."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._topic, self._offsets = topic, dict.fromkeys(range(partitions), 0)
        settings = {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed", "log_level": 0}
        self._consumer = Consumer(
            settings | {"enable.partition.eof": True, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )

    def read(self, seconds: float = END_SECONDS) -> tuple[list[Row], bool]:
        """Return further rows, and True if they reach the present end of each partition, for which it waits so long."""
        # A partition tells its end once after each assignment.
        self._consumer.assign([TopicPartition(self._topic, number, offset) for number, offset in self._offsets.items()])
        rows, open_partitions, deadline = list[Row](), set(self._offsets), time.monotonic() + seconds
        while open_partitions and time.monotonic() < deadline:
            for message in self._consumer.consume(BATCH, 0.2):
                partition, offset, value, error = message.partition(), message.offset(), message.value(), message.error()
                if error is None:
                    assert partition is not None
                    assert offset is not None
                    assert value is not None
                    rows.append(json.loads(value))
                    self._offsets[partition] = offset + 1
                elif error.code() == KafkaError._PARTITION_EOF and partition is not None:
                    open_partitions.discard(partition)
        return rows, not open_partitions

    def close(self) -> None:
        self._consumer.close()


def committed_rows(servers: str, topic: str, partitions: int) -> list[Row]:
    """Return all committed rows of a topic. TimeoutError if its end does not come."""
    reader = CommittedReader(servers, topic, partitions)
    try:
        rows, whole = reader.read()
    finally:
        reader.close()
    if not whole:
        raise TimeoutError(f"The end of topic '{topic}' did not come within {END_SECONDS:.0f} seconds.")
    return rows
