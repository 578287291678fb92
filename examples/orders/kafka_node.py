"""A Kafka of one node on a free loopback port: Apache's own, from jars that are fetched once."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from pitstop.kit.waiting import wait_until
from pitstop.machine.java import find_java
from pitstop.machine.maven import Jar, fetch_jar, jar_folder

LOCK = Path(__file__).with_name("kafka.lock")
"""The jars of a broker, each with its SHA-256: Apache Kafka 4.1.1 and what it depends on."""
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
START_SECONDS = 120
ONE = ("replication.factor", "num.partitions", "min.isr")
JAVA = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


Say = Callable[[str], None]


def broker_jars(say: Say | None = None) -> list[Path]:
    """Return the jars of the broker, fetched into the cache folder if they are not there. ``say`` tells how far that is."""
    folder, jars = jar_folder(), []
    for line in LOCK.read_text().splitlines():
        coordinates, sha256 = line.split()
        group, artifact, version = coordinates.split(":")
        jars.append(Jar(group, artifact, version, sha256))
    missing = [jar for jar in jars if not (folder / jar.file_name).exists()]
    pool = ThreadPoolExecutor(8)
    try:
        for number, _ in enumerate(pool.map(lambda jar: fetch_jar(jar, folder), missing), start=1):
            if say is not None:
                say(f"fetching Apache Kafka from Maven Central: {number} of {len(missing)} jars")
        return [fetch_jar(jar, folder) for jar in jars]
    finally:
        # Ctrl-C waits for the jars that are under way, and not for the rest.
        pool.shutdown(cancel_futures=True)


class KafkaNode:
    """A broker that is its own controller, with its logs in a folder. It may be killed, and started again on its port."""

    def __init__(self, folder: Path, settings: dict[str, str] | None = None, cluster: str = CLUSTER_ID) -> None:
        """``settings`` are those of the broker, beside what one node needs; ``cluster`` is the id of its cluster, a UUID in 22
        characters of base64."""
        self._folder, self._settings, self._cluster = folder, settings or {}, cluster
        self._port, self._controller = free_port(), free_port()
        self.servers = f"127.0.0.1:{self._port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the broker; return once it answers."""
        if not self._properties.exists():
            self._format()
        with (self._folder / "broker.log").open("ab") as log:
            command = self._java("kafka.Kafka", str(self._properties))
            # A session of its own: Ctrl-C reaches the one who started it, who ends it in order.
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        if not wait_until(self._answers, START_SECONDS):
            raise RuntimeError(f"Kafka did not start:\n{self.last_lines()}")

    def kill(self) -> None:
        """End the broker at once, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the broker in order."""
        self._end(signal.SIGTERM)

    def last_lines(self, lines: int = 40) -> str:
        """Return the end of the broker's log."""
        log = self._folder / "broker.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "It has no log."

    @property
    def _properties(self) -> Path:
        return self._folder / "server.properties"

    def _answers(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise RuntimeError(f"Kafka has ended:\n{self.last_lines()}")
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", self._port)) != 0:
                return False
        try:
            return bool(AdminClient({"bootstrap.servers": self.servers, "log_level": 0}).list_topics(timeout=1).brokers)
        except KafkaException:  # it listens, and does not lead yet
            return False

    def _end(self, by: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(by)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def _format(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "listeners": f"PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self.servers}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self._folder / "logs"),
            # Nothing is old here, whatever times the messages have.
            "log.retention.ms": "-1",
            # Its own topics have one replica and one partition, as there is one node.
            **{f"offsets.topic.{name}": "1" for name in ONE[:2]},
            **{f"transaction.state.log.{name}": "1" for name in ONE},
            **{f"share.coordinator.state.topic.{name}": "1" for name in ("replication.factor", "min.isr")},
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            "log.cleaner.dedupe.buffer.size": "2000000",
            **self._settings,
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        format_ = self._java("kafka.tools.StorageTool", "format", "-t", self._cluster, "-c", str(self._properties))
        done = subprocess.run(format_, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RuntimeError(f"Kafka's storage could not be formatted:\n{done.stdout}{done.stderr}")

    def _java(self, main: str, *arguments: str) -> list[str]:
        java = find_java(jar_folder().parent / "java") / "bin" / "java"
        path = ":".join(str(jar) for jar in broker_jars())
        return [str(java), *JAVA, "-cp", path, main, *arguments]


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def serve(until: Callable[[], object]) -> None:
    """Run a broker in a folder until a function returns."""
    node = KafkaNode(Path(sys.argv[1]))
    node.start()
    print(node.servers, flush=True)
    try:
        until()
    finally:
        node.stop()


if __name__ == "__main__":
    over = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: over.set())
    serve(over.wait)
