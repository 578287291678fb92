"""Topics of Kafka: make them, and read what transactions have committed to them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

BATCH = 10_000
END_SECONDS = 60.0


def make_topics(servers: str, names: Sequence[str], partitions: int) -> None:
    """Make topics of one replica; return once the broker has them."""
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        made.result(60)


class CommittedReader:
    """Reads the committed messages of a topic, in each call from where the call before has ended."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._topic, self._offsets = topic, dict.fromkeys(range(partitions), 0)
        settings = {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed", "log_level": 0}
        self._consumer = Consumer(
            settings | {"enable.partition.eof": True, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )

    def read(self, seconds: float = END_SECONDS) -> tuple[list[Message], bool]:
        """Return further messages, and True if they reach the present end of each partition, for which it waits so long."""
        # A partition tells its end once after each assignment.
        self._consumer.assign([TopicPartition(self._topic, number, offset) for number, offset in self._offsets.items()])
        messages, open_partitions, deadline = list[Message](), set(self._offsets), time.monotonic() + seconds
        while open_partitions and time.monotonic() < deadline:
            for message in self._consumer.consume(BATCH, 0.2):
                if message.error() is None:
                    messages.append(message)
                    self._offsets[message.partition()] = message.offset() + 1
                elif message.error().name() == "_PARTITION_EOF":
                    open_partitions.discard(message.partition())
        return messages, not open_partitions

    def close(self) -> None:
        self._consumer.close()


def committed_messages(servers: str, topic: str, partitions: int) -> list[Message]:
    """Return all committed messages of a topic. TimeoutError if its end does not come."""
    reader = CommittedReader(servers, topic, partitions)
    try:
        messages, whole = reader.read()
    finally:
        reader.close()
    if not whole:
        raise TimeoutError(f"The end of topic '{topic}' did not come within {END_SECONDS:.0f} seconds.")
    return messages
