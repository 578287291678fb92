"""A small Kafka on a free port, or Apache's own, and what tests do with its topics."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from pitstop.kit.waiting import wait_until

APACHE = os.environ.get("PITSTOP_BROKER") == "apache"
"""True if brokers that ask nobody to sign in are Apache Kafka: `make test-kafka`."""
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "kfake"
sys.path.insert(0, str(ROOT / "examples" / "orders"))
SECONDS = 30


def apache_kafka(folder, cluster, settings):
    from kafka_node import KafkaNode

    return KafkaNode(folder, settings, cluster)


class Broker:
    """A broker that keeps its messages in a folder, so that it may be killed and started again on the same port."""

    def __init__(self, folder: Path, user=None, password="", tls=None, clients=False, cluster="kfake", settings=None):
        """``user`` signs in by SASL with ``password``; ``tls``: a folder of certificates (tests/brokers/certificates.py);
        ``clients``: they need one of theirs; ``cluster``: the id of its cluster; ``settings``: of Apache Kafka alone."""
        self.folder, self.port = folder, 0
        self.arguments = [*(["-user", user] if user else []), *(["-tls", str(tls)] if tls else []), *(["-clients"] * clients)]
        self.cluster = f"{cluster:A<22.6}" if APACHE else cluster
        self.arguments += ["-cluster", self.cluster]
        self.environment = os.environ | {"KFAKE_PASSWORD": password}
        self.reach: dict[str, str | int | float | bool] = {}
        """What librdkafka must know, beside the address, for the tests' own clients."""
        if user:
            self.reach |= {"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password}
        if tls:
            self.reach |= {"ssl.ca.location": str(tls / "ca.crt")}
        if clients:
            own = {"ssl.certificate.location": str(tls / "client.crt"), "ssl.key.location": str(tls / "client.key")}
            self.reach |= own
        if user or tls:
            self.reach["security.protocol"] = ("SASL_" if user else "") + ("SSL" if tls else "PLAINTEXT")
        self.node = apache_kafka(folder / "apache", self.cluster, settings) if APACHE and not self.reach else None
        if self.node is None:
            self.program = self._built()
        self.start()

    def _built(self):
        built = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
        if built.returncode == 3:
            pytest.skip(built.stderr.strip())
        assert built.returncode == 0, built.stderr
        return built.stdout.strip()

    def start(self):
        if self.node is not None:
            self.node.start()
            self.servers = self.node.servers
        else:
            self._start_small()
        self.port = int(self.servers.rpartition(":")[2])
        self.admin = AdminClient(self.reach | {"bootstrap.servers": self.servers, "log_level": 0})

    def _start_small(self):
        command = [self.program, "-dir", str(self.folder), *(["-port", str(self.port)] if self.port else []), *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)
        self.servers = self.process.stdout.readline().strip()
        assert self.servers, "the broker did not start"

    def kill(self):
        if self.node is not None:
            self.node.kill()
            return
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)
        self.process.stdout.close()

    def stop(self):
        """Let the broker stand still: it takes connections, and does not answer."""
        self._signal(signal.SIGSTOP)

    def go_on(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        process = self.process if self.node is None else self.node.process
        if process is not None and process.poll() is None:
            process.send_signal(number)

    def make(self, topic, partitions=2):
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(SECONDS)
        assert wait_until(lambda: self._partitions(topic) == partitions, SECONDS)

    def widen(self, topic, partitions):
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(SECONDS)
        assert wait_until(lambda: self._partitions(topic) == partitions, SECONDS)

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result(SECONDS)
        assert wait_until(lambda: self._partitions(topic) == 0, SECONDS)

    def drop_before(self, topic, partition, offset):
        """Let a partition forget its messages before an offset, as it does when they are too old."""
        at = TopicPartition(topic, partition, offset)
        self.admin.delete_records([at])[TopicPartition(topic, partition)].result(SECONDS)

    def send(self, topic, messages, transaction=None, commit=True):
        """Send (key, value, partition), perhaps with its time in ms as a fourth part, in one transaction if it has a name."""
        settings = self.reach | {"bootstrap.servers": self.servers, "linger.ms": 5}
        producer = Producer(settings | ({"transactional.id": transaction} if transaction else {}))
        if transaction:
            producer.init_transactions(SECONDS)
            producer.begin_transaction()
        for key, value, partition, *time_ms in messages:
            producer.produce(topic, value, key, partition, timestamp=time_ms[0] if time_ms else 0)
        producer.flush(SECONDS)
        if transaction and commit:
            producer.commit_transaction(SECONDS)
        elif transaction:
            producer.abort_transaction(SECONDS)

    @contextmanager
    def transaction(self, name):
        """Yield a producer in a transaction that is open, and is aborted in the end."""
        producer = Producer(self.reach | {"bootstrap.servers": self.servers, "transactional.id": name})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        try:
            yield producer
        finally:
            producer.abort_transaction(SECONDS)

    def send_numbers(self, topic, numbers, partitions=2, **transaction):
        """Send ``{"n": number}`` for each number, by turns into the partitions."""
        self.send(topic, [(f"k{n % 5}", json.dumps({"n": n}), n % partitions) for n in numbers], **transaction)

    def messages(self, topic):
        """Return what a reader of committed messages finds in a topic, partition by partition: (key, value, headers)."""
        settings = self.reach | {"bootstrap.servers": self.servers, "group.id": "reader", "isolation.level": "read_committed"}
        consumer = Consumer(
            settings | {"enable.partition.eof": True, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        )
        try:
            open_partitions = set(range(self._partitions(topic)))
            consumer.assign([TopicPartition(topic, number, 0) for number in open_partitions])
            messages, deadline = [], time.monotonic() + SECONDS
            while open_partitions:
                assert time.monotonic() < deadline, "the end of the topic did not come"
                message = consumer.poll(1)
                if message is not None and message.error() is not None:
                    open_partitions.discard(message.partition())
                elif message is not None:
                    messages.append((message.key(), message.value(), dict(message.headers() or ())))
            return messages
        finally:
            consumer.close()

    @contextmanager
    def member_of(self, group, topic):
        """Keep a consumer in a group while the block lasts."""
        consumer = Consumer(self.reach | {"bootstrap.servers": self.servers, "group.id": group, "enable.auto.commit": False})
        try:
            consumer.subscribe([topic])
            deadline = time.monotonic() + SECONDS
            while not consumer.assignment():
                assert time.monotonic() < deadline, "the consumer got no partition"
                consumer.poll(0.2)
            yield consumer
        finally:
            consumer.close()

    def committed(self, group, topic, partitions):
        """Return the offsets of a group."""
        consumer = Consumer(self.reach | {"bootstrap.servers": self.servers, "group.id": group})
        try:
            return [
                at.offset for at in consumer.committed([TopicPartition(topic, number) for number in range(partitions)], SECONDS)
            ]
        finally:
            consumer.close()

    def _partitions(self, topic):
        topics = self.admin.list_topics(timeout=SECONDS).topics
        return len(topics[topic].partitions) if topic in topics and topics[topic].error is None else 0
