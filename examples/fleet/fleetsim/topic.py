"""Pings as messages of a topic of Kafka, beside what a provider has otherwise: with ``--servers``."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from fleetsim.world import Ping

TOPIC = "pings"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--servers`` and ``--topic``."""
    parser.add_argument("--servers", help="addresses of Kafka's brokers: each ping is sent to the topic, too")
    parser.add_argument("--topic", default=TOPIC, help=f"the topic of pings (default: {TOPIC})")


class PingTopic:
    """Sends pings, each once, those of a vehicle in order; without servers it sends none."""

    def __init__(self, options: argparse.Namespace, provider: str) -> None:
        self._topic, self._provider, self._producer = options.topic, provider, None
        self._errors: list[Any] = []
        if options.servers:
            from confluent_kafka import Producer  # here, for a fleet without Kafka needs no client of it

            # Idempotent: a message that is sent again, because its answer was lost, is there once.
            settings = {"bootstrap.servers": options.servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 3}
            self._producer = Producer(settings)

    def send(self, ping: Ping) -> None:
        """Send a ping; RuntimeError if one before did not arrive."""
        if self._producer is not None:
            message = json.dumps(dataclasses.asdict(ping) | {"provider": self._provider})
            self._producer.produce(self._topic, message, ping.vin, on_delivery=self._note)
            self._producer.poll(0)
            self._check()

    def complete(self) -> None:
        """Return once all pings are in the topic; RuntimeError if one did not arrive."""
        if self._producer is not None:
            self._producer.flush()
            self._check()

    def _note(self, error: Any, message: Any) -> None:
        if error is not None:
            self._errors.append(error)

    def _check(self) -> None:
        if self._errors:
            raise RuntimeError(f"A ping did not arrive in topic {self._topic}: {self._errors[0]}")
