"""The demo with a broker between: simulators send to a topic, and the job reads it and writes a second one."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from stack import HERE, Say, Stack
from verify import Key, ingested

sys.path.insert(0, str(HERE.parent / "orders"))

from kafka_node import KafkaNode, broker_jars
from kafka_topics import committed_messages, make_topics

PINGS, INGESTED = "pings", "ingested"
PARTITIONS = 4


class KafkaStack(Stack):
    """A stack with an Apache Kafka of one node."""

    has_broker = True

    def __init__(self, folder: Path, speedup: float, port: int) -> None:
        super().__init__(folder / "fleet", speedup=speedup, port=port)
        self.job_file = HERE / "ingest_kafka.py"
        self._node = KafkaNode(folder / "kafka")

    def start_broker(self, say: Say) -> str:
        """Start the broker, and make its two topics."""
        broker_jars(say)
        self._node.start()
        make_topics(self._node.servers, (PINGS, INGESTED), PARTITIONS)
        return self._node.servers

    @property
    def simulator_options(self) -> tuple[str, ...]:
        return ("--servers", self._node.servers, "--topic", PINGS)

    @property
    def job_arguments(self) -> tuple[str, ...]:
        return self._node.servers, str(self.archive)

    def outputs(self) -> dict[str, Counter[Key]]:
        """Return the pings in each output of the job."""
        rows = [json.loads(message.value()) for message in committed_messages(self._node.servers, INGESTED, PARTITIONS)]
        return {"ingested": ingested(self.archive), "in the topic": Counter((row["vin"], row["time"]) for row in rows)}

    def end(self) -> None:
        """End everything that was started: the broker last, for the others still write."""
        try:
            super().end()
        finally:
            self._node.stop()
