"""``make bench-topics``: topics to windows to a topic and to PostgreSQL, on Spark by hand, Pitstop and Flink in turns.

All read the same topic of the same Apache Kafka, a node of its own, on the same two cores. *Backlog*: count, sum and maximum by
key over windows of ten minutes, from the beginning of a topic that is full. The rate is that of the rows between two ends of
windows, over the time between the moments when the last result of each can be read. So no start counts. *Live*: rows go through
a filter from topic to topic, and each is read by ``read_committed``; the latency is from produced to read. Writes
benchmarks/topics.json and docs/performance.md.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console
from rich.table import Table

import report
from by_hand import DEFAULTS
from pitstop.machine.maven import fetch_jars
from pitstop.pipeline.needs import OF_SOURCES
from served import serving

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples" / "orders"))

from kafka_node import KafkaNode  # noqa: E402  its folder is put on the path first

ROWS, KEYS, PARTITIONS, STEP_MS, WINDOW_MS = 4_000_000, 1_000, 4, 2, 600_000
WINDOWS = ROWS * STEP_MS // WINDOW_MS
"""Windows that the rows fill; the last one does not end."""
RATE, LIVE_SECONDS, WARM_SECONDS = 2_000, 45, 20
START_MS = 1_767_225_600_000
PATIENCE = 600.0
DRIVER = os.environ.get("PITSTOP_TEST_JDBC", "")
FLINK_NEEDS = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
TABLE = "(k bigint, window_end timestamptz, n bigint, total bigint, high bigint, PRIMARY KEY (k, window_end))"

JOB = """
import pitstop as ps

SCHEMA = "k bigint, v bigint, ts timestamp"


@ps.job(processing_guarantee="exactly_once", partitions=2)
def sums(servers: str, url: str = ""):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.kafka(servers, topic="orders", value="json", schema=SCHEMA), name="orders")
    windows = rows.with_timestamps("ts", allowed_lag="2 seconds").group_by("k").window(ps.tumbling("10 minutes"))
    sums = windows.aggregate("sums", n=ps.count(), total=ps.sum("v"), high=ps.max("v"))
    result = sums.select("k", "window_end", "n", "total", "high")
    result.write_to(ps.sinks.postgres(url, "sums", key=("k", "window_end")) if url else TOPIC(servers, "sums"), name="out")
    return p


@ps.job(processing_guarantee="exactly_once", partitions=2, max_latency="{latency}")
def live(servers: str):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.kafka(servers, topic="live", value="json", schema="k bigint, v bigint, ms bigint"), name="live")
    rows.filter("v <> 3").write_to(TOPIC(servers, "filtered"), name="out")
    return p


def TOPIC(servers, topic):
    return ps.sinks.kafka(servers, topic)
"""


def order(number):
    """The message of a row, by one formula for all."""
    at = START_MS + number * STEP_MS
    time_of_day = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000))
    return f'{{"k":{number * 7919 % KEYS},"v":{number % 10},"ts":"{time_of_day}.{at % 1000:03}Z"}}'


@contextmanager
def broker(folder):
    """A Kafka with the topic of the backlog."""
    node = KafkaNode(folder / "kafka")
    node.start()
    try:
        topics(node.servers, {"orders": PARTITIONS})
        producer = Producer(
            {"bootstrap.servers": node.servers, "linger.ms": 50, "batch.size": 1 << 20, "compression.type": "lz4"}
        )
        for number in range(ROWS):
            while True:
                try:
                    producer.produce("orders", order(number), partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush(PATIENCE)
        yield node.servers
    finally:
        node.stop()


def topics(servers, partitions):
    """Make topics, anew where there are such."""
    admin = AdminClient({"bootstrap.servers": servers})
    there = [topic for topic in partitions if topic in admin.list_topics(timeout=10).topics]
    for done in admin.delete_topics(there).values() if there else ():
        done.result(30)
    new = [NewTopic(topic, number, 1) for topic, number in partitions.items()]
    end = time.monotonic() + 30
    while new:  # a topic that was deleted just now may still be there
        made = admin.create_topics(new)
        new = [topic for topic in new if made[topic.topic].exception() is not None]
        if new and time.monotonic() > end:
            raise SystemExit(f"no topics {', '.join(topic.topic for topic in new)}")
        time.sleep(0.1 if new else 0)


def messages(servers, topic, seconds):
    """The committed messages of a topic, each with the moment of its arrival, as they come."""
    settings = {"bootstrap.servers": servers, "group.id": f"bench-{time.monotonic_ns()}", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings | {"isolation.level": "read_committed", "enable.auto.commit": False, "fetch.wait.max.ms": 5})
    consumer.subscribe([topic])
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            batch, now = consumer.consume(10_000, 0.05), time.time()
            yield from ((json.loads(message.value()), now) for message in batch if message.error() is None)
            if not batch:
                yield None, now
    finally:
        consumer.close()


def from_topic(servers):
    """The results as they can be read from the topic of results: end of the window, n, total, moment."""
    for row, now in messages(servers, "sums", PATIENCE):
        if row is not None:
            yield row["window_end"], row["n"], row["total"], now


def from_table(url):
    """The same from the table of results. A row is told once."""
    told = set()
    with psycopg.connect(url, autocommit=True) as connection:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            counts = connection.execute("SELECT window_end, count(*), sum(n), sum(total) FROM sums GROUP BY 1").fetchall()
            now = time.time()
            for window, keys, rows, total in counts:
                if keys == KEYS and window not in told:
                    told.add(window)
                    yield from ((window, float(rows) / KEYS, float(total) / KEYS, now) for _ in range(KEYS))
            time.sleep(0.05)


def rate_of(results):
    """Rows a second between the ends of the first window and of the last that ends. Each must have all rows, once."""
    rows_of_window, complete = WINDOW_MS // STEP_MS, []
    counts: dict[object, list[float]] = {}
    for window, n, total, now in results:
        count = counts.setdefault(window, [0, 0, 0])
        count[0], count[1], count[2] = count[0] + 1, count[1] + n, count[2] + total
        if count[0] == KEYS:
            if abs(count[1] - rows_of_window) > 0.5 or abs(count[2] - rows_of_window * 4.5) > 0.5:
                raise SystemExit(f"the window until {window} has {count[1]} rows and the sum {count[2]}")
            complete.append(now)
        if len(complete) == WINDOWS - 1:
            break
    if len(complete) < WINDOWS - 1:
        raise SystemExit(f"only {len(complete)} of {WINDOWS - 1} windows came within {PATIENCE:.0f} s")
    # Windows that end in one epoch come together: the rate counts from the last of those that came first.
    first = max(number for number, at in enumerate(complete) if at - complete[0] < 0.05)
    if first == len(complete) - 1:
        raise SystemExit("all windows came at once: there is nothing to measure")
    return (len(complete) - 1 - first) * rows_of_window / (complete[-1] - complete[first])


def latencies(servers):
    """Percentiles of the seconds from produced to read, of rows at RATE a second."""
    ended = threading.Event()

    def produce():
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 2})
        number, began = 0, time.time()
        while not ended.is_set():
            while number < (time.time() - began) * RATE:
                producer.produce("live", json.dumps({"k": number % KEYS, "v": number % 10, "ms": round(time.time() * 1000)}))
                number += 1
            producer.poll(0.005)
        producer.flush(30)

    sender = threading.Thread(target=produce)
    sender.start()
    seconds, first = [], None
    try:
        for row, now in messages(servers, "filtered", PATIENCE):
            if first is not None and now - first > WARM_SECONDS + LIVE_SECONDS:
                break
            if row is None:
                continue
            first = now if first is None else first
            if now - first > WARM_SECONDS:
                seconds.append(now - row["ms"] / 1000)
    finally:
        ended.set()
        sender.join()
    if len(seconds) < RATE * LIVE_SECONDS * 0.5:
        raise SystemExit(f"only {len(seconds)} rows came")
    seconds.sort()
    return {"p50": seconds[len(seconds) // 2], "p99": seconds[int(len(seconds) * 0.99)]}


@contextmanager
def process(command, folder, **environment):
    """A program that runs until it is no longer needed."""
    with (folder / "log").open("a") as log:
        running = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, env=os.environ | environment)
    is_needed = True

    def watch():
        running.wait()
        if is_needed:
            print(f"{command[0]} ended:\n{(folder / 'log').read_text()[-3000:]}", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        is_needed = False
        running.kill()
        running.wait()


@contextmanager
def spark_by_hand(servers, what, url, folder):
    with process([sys.executable, __file__, "by-hand", servers, what, url, folder], folder):
        yield


@contextmanager
def pitstop(servers, what, url, folder, latency="1 second"):
    job = folder / "topics_job.py"
    job.write_text(JOB.replace("{latency}", latency))
    with serving(folder, "--spares", "0") as client:
        arguments = [servers, url] if what == "sums" and url else [servers]
        client.submit(job, entry=f"topics_job:{what}", args=arguments, name=what)
        yield


@contextmanager
def flink(peers, servers, what, url, folder):
    if url:
        raise SystemExit("Flink is measured between topics alone")
    classes = f"{peers}/flink/*:{peers}/flink/classes"
    with process(["java", "-Xmx2g", *FLINK_NEEDS, "-cp", classes, "FlinkTopics", servers, what, folder], folder):
        yield


def by_hand(servers, what, url, folder):
    """The query of a user who has Spark alone, until the process is killed."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    jars = [*map(str, fetch_jars(OF_SOURCES["kafka"].jars)), *([DRIVER] if url else [])]
    builder = SparkSession.builder.master("local[2]").config("spark.jars", ",".join(jars))
    for key, value in (DEFAULTS | {"spark.local.dir": str(folder / "local")}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    topic = {"sums": "orders", "live": "live"}[what]
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    source = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "500000")
    schema = "k bigint, v bigint, ts timestamp" if what == "sums" else "k bigint, v bigint, ms bigint"
    rows = source.load().select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select("row.*")
    if what == "sums":
        windows = rows.withWatermark("ts", "2 seconds").groupBy("k", F.window("ts", "10 minutes"))
        sums = windows.agg(F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("high"))
        result = sums.select("k", F.col("window.end").alias("window_end"), "n", "total", "high")
    else:
        result = rows.where("v <> 3")
    if url:
        server = conninfo_to_dict(url)
        options = {
            "url": f"jdbc:postgresql://{server['host']}:{server.get('port', 5432)}/{server['dbname']}",
            "dbtable": "sums",
            "user": server["user"],
            "password": server.get("password", ""),
            "driver": "org.postgresql.Driver",
        }

        def write(batch, epoch):
            batch.write.format("jdbc").options(**options).mode("append").save()

        writer = result.writeStream.foreachBatch(write)
    else:
        out = {"sums": "sums", "live": "filtered"}[what]
        writer = result.select(F.to_json(F.struct("*")).alias("value")).writeStream.format("kafka")
        writer = writer.option("kafka.bootstrap.servers", servers).option("topic", out)
    writer.option("checkpointLocation", str(folder / "ck")).start().awaitTermination()


def backlog(engine, servers, url=""):
    """Rows a second of a backlog, from the topic to a topic, or to PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder:
        if url:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP TABLE IF EXISTS sums")
                connection.execute("DROP TABLE IF EXISTS pitstop_marks")
                connection.execute(f"CREATE TABLE sums {TABLE}")
        else:
            topics(servers, {"sums": PARTITIONS})
        with engine(servers, "sums", url, Path(folder)):
            return rate_of(from_table(url) if url else from_topic(servers))


def live(engine, servers):
    with tempfile.TemporaryDirectory() as folder:
        topics(servers, {"live": PARTITIONS, "filtered": PARTITIONS})
        with engine(servers, "live", "", Path(folder)):
            return latencies(servers)


def measured(peers, servers, url, say):
    """Engine -> its figures."""

    def of_flink(servers, what, url, folder):
        return flink(peers, servers, what, url, folder)

    def at_once(servers, what, url, folder):
        return pitstop(servers, what, url, folder, latency="0")

    figures: dict[str, dict[str, float]] = {}
    for name, engine in {"Spark by hand": spark_by_hand, "Pitstop": pitstop, "Flink": of_flink}.items():
        say(f"{name}: a backlog, topic to topic")
        figures[name] = {"topic": backlog(engine, servers)}
        if engine is not of_flink:
            say(f"{name}: a backlog, topic to PostgreSQL")
            figures[name]["postgres"] = backlog(engine, servers, url)
        say(f"{name}: live")
        figures[name] |= live(engine, servers)
    say("Pitstop: live, max_latency 0")
    figures["Pitstop, max_latency 0"] = live(at_once, servers)
    return figures


def main():
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before its time"))  # the broker goes as well
    url = os.environ["PITSTOP_TEST_POSTGRES"]
    with tempfile.TemporaryDirectory() as folder:
        console.print(f"[dim]{ROWS:,} messages into a topic of Apache Kafka ...[/dim]")
        with broker(Path(folder)) as servers:
            figures = measured(Path(sys.argv[1]), servers, url, lambda text: console.print(f"[dim]{text} ...[/dim]"))
    (HERE / "topics.json").write_text(json.dumps(figures, indent=2) + "\n")
    table = Table("", "to a topic, rows/s", "to PostgreSQL, rows/s", "p50", "p99")
    for name, row in figures.items():
        rates = (f"{row[kind]:,.0f}" if kind in row else "-" for kind in ("topic", "postgres"))
        table.add_row(name, *rates, f"{row['p50']:.2f} s", f"{row['p99']:.2f} s")
    Console().print(table)
    report.write()


if __name__ == "__main__":
    if sys.argv[1] == "by-hand":
        by_hand(sys.argv[2], sys.argv[3], sys.argv[4], Path(sys.argv[5]))
    else:
        main()
