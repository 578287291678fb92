"""A broker between the simulators and the job: they send to one topic, the job reads it and writes a second one."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from verify import Key

sys.path.insert(0, str(Path(__file__).parents[1] / "orders"))

from kafka_node import KafkaNode, broker_jars
from kafka_topics import CommittedReader, make_topics

HERE = Path(__file__).parent
PINGS, INGESTED = "pings", "ingested"
PARTITIONS = 4
Say = Callable[[str], None]


class Broker:
    """An Apache Kafka of one node with the topics of the fleet."""

    job_file = HERE / "ingest_kafka.py"

    def __init__(self, folder: Path) -> None:
        self._node = KafkaNode(folder)
        self._reader: CommittedReader | None = None
        self._pings: Counter[Key] = Counter()

    @property
    def servers(self) -> str:
        return self._node.servers

    @property
    def simulator_options(self) -> tuple[str, ...]:
        """The options with which a simulator sends its pings to the topic."""
        return ("--servers", self.servers, "--topic", PINGS)

    def start(self, say: Say) -> None:
        """Start the broker and make its topics. ``say`` tells what is fetched for it."""
        broker_jars(say)
        self._node.start()
        make_topics(self.servers, (PINGS, INGESTED), PARTITIONS)

    def stop(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._node.stop()

    def ingested(self) -> Counter[Key]:
        """Return the pings that the job has committed to its topic. TimeoutError if the topic's end does not come."""
        if self._reader is None:
            self._reader = CommittedReader(self.servers, INGESTED, PARTITIONS)
        rows, whole = self._reader.read()
        self._pings.update((row["vin"], row["time"]) for row in rows)
        if not whole:
            raise TimeoutError(f"The end of topic '{INGESTED}' did not come in time.")
        return self._pings.copy()
