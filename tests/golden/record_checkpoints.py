"""Records checkpoints of plain Spark, once for each release of Spark: ``python record_checkpoints.py FOLDER``.

Run it with the Python of an environment that has that release of pyspark (3.5 to 4.3), pandas and pyarrow, and a Java 17. It
writes FOLDER/checkpoints-<release>.tar.xz, in which each scenario is a checkpoint beside ``facts.json``. The facts are what this
script asked Spark for, and what Spark's own progress reports said meanwhile. The tests of ``pitstop doctor`` compare with them.
It imports nothing of Pitstop. ``python record_checkpoints.py FOLDER SCENARIO...`` records these alone, and keeps the others of an
archive that is there.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

RELEASE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
PARTITIONS = 2
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
STATE = "spark.sql.streaming.stateStore"
CHANGELOG = f"{STATE}.rocksdb.changelogCheckpointing.enabled"
INPUTS = Path(tempfile.gettempdir()) / "pitstop-recorded-inputs"
"""The folder of the files to read, always the same: checkpoints name it."""
SCHEMA = "id BIGINT, name STRING, at TIMESTAMP, amount DOUBLE"


class Scenario:
    """A query, what of Spark's settings it needs, and the facts that hold for its checkpoint by definition."""

    def __init__(
        self,
        name: str,
        query: Callable[[SparkSession, Path], DataFrame],
        settings: dict[str, str] | None = None,
        since: tuple[int, int] = (3, 5),
        mode: str = "append",
        fails_at: int | None = None,
        rests: bool = False,
        keeps_rows: bool = False,
        endless: bool = False,
        epochs: int = 4,
        **facts: Any,
    ) -> None:
        self.name, self.query, self.settings, self.since, self.mode = name, query, settings or {}, since, mode
        self.fails_at, self.rests, self.keeps_rows = fails_at, rests, keeps_rows
        self.endless, self.epochs, self.facts = endless, epochs, facts


def events(spark: SparkSession, inputs: Path, name: str | None = None) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    if name is not None:
        reader = reader.name(name)
    return reader.json(str(inputs)).withWatermark("at", "10 seconds")


def window(spark: SparkSession, inputs: Path) -> DataFrame:
    return (
        events(spark, inputs)
        .groupBy(F.window("at", "10 seconds"), "name")
        .agg(F.count("*").alias("events"), F.sum("amount").alias("total"))
    )


def named_window(spark: SparkSession, inputs: Path) -> DataFrame:
    return events(spark, inputs, "orders").groupBy(F.window("at", "10 seconds"), "name").count()


def rolling(spark: SparkSession, inputs: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(inputs)).groupBy("name").count()


def duplicates(spark: SparkSession, inputs: Path) -> DataFrame:
    return events(spark, inputs).dropDuplicates(["id", "at"])


def duplicates_for_ever(spark: SparkSession, inputs: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(inputs)).dropDuplicates(["id"])


def duplicates_within(spark: SparkSession, inputs: Path) -> DataFrame:
    return events(spark, inputs).dropDuplicatesWithinWatermark(["id"])


def join(spark: SparkSession, inputs: Path) -> DataFrame:
    left = events(spark, inputs).select("id", "at", "amount").withColumnRenamed("at", "ordered")
    right = events(spark, inputs).select(F.col("id").alias("paid_id"), F.col("at").alias("paid"), "name")
    near = (F.col("paid") >= F.col("ordered")) & (F.col("paid") <= F.col("ordered") + F.expr("INTERVAL 5 SECONDS"))
    return left.join(right, (F.col("id") == F.col("paid_id")) & near)


def join_of(how: str) -> Callable[[SparkSession, Path], DataFrame]:
    """Return a join in which each third event has a partner, each third is alone on the left, and each third on the right.

    Events of a larger amount than the recorded ones are on both sides.
    """

    def query(spark: SparkSession, inputs: Path) -> DataFrame:
        left = events(spark, inputs).filter("id % 3 != 1 OR amount > 1.5").select("id", F.col("at").alias("ordered"), "amount")
        right = (
            events(spark, inputs)
            .filter("id % 3 != 2 OR amount > 1.5")
            .select(F.col("id").alias("paid_id"), F.col("at").alias("paid"), "name")
        )
        near = (F.col("paid") >= F.col("ordered")) & (F.col("paid") <= F.col("ordered") + F.expr("INTERVAL 5 SECONDS"))
        return left.join(right, (F.col("id") == F.col("paid_id")) & near, how)

    return query


def moments(spark: SparkSession, inputs: Path) -> DataFrame:
    return events(spark, inputs).groupBy("at", "name").agg(F.count("*").alias("events"), F.sum("amount").alias("total"))


def sessions(spark: SparkSession, inputs: Path) -> DataFrame:
    return events(spark, inputs).groupBy(F.session_window("at", "5 seconds"), "name").count()


def chain(spark: SparkSession, inputs: Path) -> DataFrame:
    return duplicates(spark, inputs).groupBy(F.window("at", "10 seconds"), "name").count()


def stateless(spark: SparkSession, inputs: Path) -> DataFrame:
    return events(spark, inputs).select("id", "name")


def rate(spark: SparkSession, inputs: Path) -> DataFrame:
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().dropDuplicates(["value"])


def mapped(spark: SparkSession, inputs: Path) -> DataFrame:
    def count(key: tuple[str], batches: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        rows = (state.get[0] if state.exists else 0) + sum(len(batch) for batch in batches)
        state.update((rows,))
        yield pd.DataFrame({"name": [key[0]], "events": [rows]})

    return (
        events(spark, inputs)
        .groupBy("name")
        .applyInPandasWithState(count, "name STRING, events BIGINT", "events BIGINT", "update", "NoTimeout")
    )


def processed(spark: SparkSession, inputs: Path, with_timers: bool = True) -> DataFrame:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Counter(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.total = handle.getValueState("total", "rows BIGINT, amount DOUBLE")
            self.recent = handle.getListState("recent", "id BIGINT")
            self.by_id = handle.getMapState("by_id", "id BIGINT", "amount DOUBLE")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
            number, amount = self.total.get() if self.total.exists() else (0, 0.0)
            for batch in rows:
                for row in batch.itertuples():
                    number, amount = number + 1, amount + row.amount
                    self.recent.appendValue((row.id,))
                    self.by_id.updateValue((row.id,), (row.amount,))
            self.total.update((number, amount))
            if with_timers:
                self.handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 3_600_000)
            yield pd.DataFrame({"name": [key[0]], "rows": [number]})

        def close(self) -> None:
            pass

    return (
        events(spark, inputs)
        .groupBy("name")
        .transformWithStateInPandas(Counter(), "name STRING, rows BIGINT", "Update", "EventTime" if with_timers else "None")
    )


def processed_without_timers(spark: SparkSession, inputs: Path) -> DataFrame:
    return processed(spark, inputs, with_timers=False)


def processed_rows(spark: SparkSession, inputs: Path) -> DataFrame:
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class RowCounter(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.total = handle.getValueState("total", "rows BIGINT, amount DOUBLE")
            self.recent = handle.getListState("recent", "id BIGINT")
            self.by_id = handle.getMapState("by_id", "id BIGINT", "amount DOUBLE")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
            number, amount = self.total.get() if self.total.exists() else (0, 0.0)
            for row in rows:
                number, amount = number + 1, amount + row.amount
                self.recent.appendValue((row.id,))
                self.by_id.updateValue((row.id,), (row.amount,))
            self.total.update((number, amount))
            yield Row(name=key[0], rows=number)

        def close(self) -> None:
            pass

    return events(spark, inputs).groupBy("name").transformWithState(RowCounter(), "name STRING, rows BIGINT", "Update", "None")


MINUTE, CENTURY = 60_000, 3_155_760_000_000
"""Lives of state in milliseconds: of what is gone when a test reads the checkpoint, and of what is not."""


def processed_for_a_while(spark: SparkSession, inputs: Path) -> DataFrame:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Forgetting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.total = handle.getValueState("total", "rows BIGINT, amount DOUBLE", CENTURY)
            self.recent = handle.getListState("recent", "id BIGINT", MINUTE)
            self.by_id = handle.getMapState("by_id", "id BIGINT", "amount DOUBLE", CENTURY)

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
            number, amount = self.total.get() if self.total.exists() else (0, 0.0)
            for batch in rows:
                for row in batch.itertuples():
                    number, amount = number + 1, amount + row.amount
                    self.recent.appendValue((row.id,))
                    self.by_id.updateValue((row.id,), (row.amount,))
            self.total.update((number, amount))
            yield pd.DataFrame({"name": [key[0]], "rows": [number]})

        def close(self) -> None:
            pass

    grouped = events(spark, inputs).groupBy("name")
    return grouped.transformWithStateInPandas(Forgetting(), "name STRING, rows BIGINT", "Update", "ProcessingTime")


ON_ROCKSDB = {f"{STATE}.providerClass": ROCKSDB, CHANGELOG: "false"}
WITH_CHANGELOG = {f"{STATE}.providerClass": ROCKSDB, CHANGELOG: "true"}
OFTEN = {f"{STATE}.minDeltasForSnapshot": "2"}
FORMAT_2 = {**WITH_CHANGELOG, f"{STATE}.checkpointFormatVersion": "2"}
NAMED = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}

WINDOW = {"operators": ["stateStoreSave"], "keys": [["window", "name"]], "sources": ["files"]}
DUPLICATES = {"operators": ["dedupe"], "keys": [["id", "at"]], "sources": ["files"]}
JOIN = {"operators": ["symmetricHashJoin"], "keys": [["id"]], "sources": ["files", "files"]}
MOMENTS = {"operators": ["stateStoreSave"], "keys": [["at", "name"]], "sources": ["files"]}
SESSIONS = {"operators": ["sessionWindowStateStoreSaveExec"], "keys": [["name", "session_window"]], "sources": ["files"]}
MAPPED = {"operators": ["applyInPandasWithState"], "keys": [["name"]], "sources": ["files"]}
PROCESSED = {
    "operators": ["transformWithStateInPySparkExec"],
    "keys": [["name"]],
    "sources": ["files"],
    "variables": ["total", "recent", "by_id"],
}
SCENARIOS = [
    Scenario("window-hdfs", window, OFTEN, rests=True, **WINDOW),
    Scenario("window-rocksdb", window, {**ON_ROCKSDB, **OFTEN}, **WINDOW),
    Scenario("window-changelog", window, {**WITH_CHANGELOG, **OFTEN}, rests=True, **WINDOW),
    Scenario("window-format2", window, {**FORMAT_2, **OFTEN}, since=(4, 1), rests=True, **WINDOW),
    Scenario("window-named", named_window, NAMED, since=(4, 2), **WINDOW | {"named_sources": ["orders"]}),
    Scenario("rolling-update", rolling, mode="update", operators=["stateStoreSave"], keys=[["name"]], sources=["files"]),
    Scenario("dedup-hdfs", duplicates, **DUPLICATES),
    Scenario("dedup-changelog", duplicates_for_ever, WITH_CHANGELOG, **DUPLICATES | {"keys": [["id"]]}),
    Scenario("dedup-within", duplicates_within, **DUPLICATES | {"operators": ["dedupeWithinWatermark"], "keys": [["id"]]}),
    Scenario("join-hdfs", join, **JOIN),
    Scenario("join-changelog", join, WITH_CHANGELOG, **JOIN),
    Scenario("join-format3", join, {**WITH_CHANGELOG, "spark.sql.streaming.join.stateFormatVersion": "3"}, since=(4, 1), **JOIN),
    Scenario("sessions-hdfs", sessions, **SESSIONS),
    Scenario("sessions-rocksdb", sessions, ON_ROCKSDB, **SESSIONS),
    Scenario("pandas-state", mapped, mode="update", **MAPPED),
    Scenario("pandas-state-rocksdb", mapped, ON_ROCKSDB, mode="update", **MAPPED),
    Scenario("processor", processed, WITH_CHANGELOG, since=(4, 0), mode="update", **PROCESSED),
    Scenario(
        "processor-avro",
        processed_without_timers,
        {**WITH_CHANGELOG, f"{STATE}.encodingFormat": "avro"},
        since=(4, 0),
        mode="update",
        **PROCESSED,
    ),
    *(
        Scenario(f"{how}-join-{store}", join_of(how), settings, keeps_rows=True, **JOIN)
        for how in ("left", "right", "full", "semi")
        for store, settings in (("hdfs", {}), ("changelog", WITH_CHANGELOG))
    ),
    Scenario("moments-hdfs", moments, **MOMENTS),
    Scenario("moments-changelog", moments, WITH_CHANGELOG, **MOMENTS),
    Scenario("processor-rows", processed_rows, WITH_CHANGELOG, since=(4, 1), mode="update", **PROCESSED),
    Scenario("processor-ttl", processed_for_a_while, WITH_CHANGELOG, since=(4, 0), mode="update", endless=True, **PROCESSED),
    Scenario("chain", chain, operators=["stateStoreSave", "dedupe"], keys=[["window", "name"], ["id", "at"]], sources=["files"]),
    Scenario("stateless", stateless, operators=[], keys=[], sources=["files"]),
    Scenario("unfinished", window, OFTEN, fails_at=2, **WINDOW),
    Scenario("rate", rate, operators=["dedupe"], keys=[["value"]], sources=["rate-micro-batch"], endless=True),
]


def write_inputs(folder: Path, files: int) -> list[str]:
    """Write so many files of events, ten seconds apart; return their names, oldest first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = []
    for number in range(files):
        rows = [
            {"id": number * 6 + each, "name": "ab"[each % 2], "at": f"2026-01-01T00:00:{number * 10 + each:02d}Z", "amount": 1.5}
            for each in range(6)
        ]
        path = folder / f"part-{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark reads the oldest first.
        stamp = 1_767_225_600 + number * 60
        os.utime(path, (stamp, stamp))
        names.append(path.name)
    return names


def newest(log: Path) -> int:
    """Return the newest epoch of a log; a query without an end may have planned and committed more than it has reported."""
    return max(int(path.name) for path in log.iterdir() if path.name.isdigit())


def record(spark: SparkSession, scenario: Scenario, folder: Path, inputs: Path) -> None:
    """Run a scenario; leave its checkpoint and facts in ``folder``."""
    names = write_inputs(inputs / scenario.name, scenario.epochs - 1)
    usual = {
        f"{STATE}.providerClass": HDFS,
        CHANGELOG: "false",
        f"{STATE}.minDeltasForSnapshot": "10",
        f"{STATE}.maintenanceInterval": "300ms",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
    }
    settings = {**usual, **scenario.settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    checkpoint = folder / scenario.name / "checkpoint"
    written: list[str] = []

    def write(batch: DataFrame, epoch: int) -> None:
        written.extend(row[0] for row in batch.select(F.to_json(F.struct("*"))).collect())
        if epoch == scenario.fails_at:
            raise RuntimeError("the sink fails here, as it is meant to")
        if scenario.rests:
            time.sleep(1.0)  # maintenance makes snapshots meanwhile

    writer = scenario.query(spark, inputs / scenario.name).writeStream.outputMode(scenario.mode)
    writer = writer.option("checkpointLocation", str(checkpoint)).foreachBatch(write)
    if scenario.endless:
        # The query is stopped in the pause between two epochs.
        query = writer.trigger(processingTime="5 seconds").start()
        while not query.recentProgress or query.recentProgress[-1]["batchId"] < scenario.epochs - 1:
            if query.exception() is not None:
                raise query.exception()
            time.sleep(0.01)
        query.stop()
        if newest(checkpoint / "offsets") != newest(checkpoint / "commits"):
            raise RuntimeError("the query was stopped within an epoch: record it again")
    else:
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception:
            if scenario.fails_at is None:
                raise
    reports = [report if isinstance(report, dict) else json.loads(report.json) for report in query.recentProgress]
    reports = [report for report in reports if report["batchId"] != scenario.fails_at]
    last = reports[-1]
    facts = {
        "spark": pyspark.__version__,
        "query_id": str(query.id),
        "committed": newest(checkpoint / "commits"),
        "planned": newest(checkpoint / "offsets"),
        "watermark": last.get("eventTime", {}).get("watermark"),
        "provider": settings[f"{STATE}.providerClass"].rsplit(".", 1)[-1],
        "partitions": PARTITIONS,
        "changelog": settings[CHANGELOG] == "true",
        "checkpoint_format": int(settings.get(f"{STATE}.checkpointFormatVersion", "1")),
        "files": names[: len(names) if scenario.fails_at is None else scenario.fails_at + 1],
        "reported_operators": [report["operatorName"] for report in last["stateOperators"]],
        "rows": [report["numRowsTotal"] for report in last["stateOperators"]],
        "end_offsets": [source["endOffset"] for source in last["sources"]],
        **({"written": [json.loads(row) for row in written]} if scenario.keeps_rows else {}),
        **scenario.facts,
    }
    (folder / scenario.name / "facts.json").write_text(json.dumps(facts, indent=1, default=str) + "\n")


def main(target: Path, only: list[str]) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkpoints"
        out = target / f"checkpoints-{RELEASE[0]}.{RELEASE[1]}.tar.xz"
        if only and out.exists():
            with tarfile.open(out) as archive:
                archive.extractall(folder, filter="data")
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
            .config(f"{STATE}.maintenanceInterval", "300ms")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        for scenario in SCENARIOS:
            if scenario.since <= RELEASE and (not only or scenario.name in only):
                print(scenario.name, flush=True)
                shutil.rmtree(folder / scenario.name, ignore_errors=True)
                try:
                    record(spark.newSession(), scenario, folder, INPUTS)
                except Exception as error:
                    shutil.rmtree(folder / scenario.name, ignore_errors=True)
                    print("FAILED", scenario.name, str(error)[:200], str(error)[-1500:], flush=True)
        spark.stop()
        with tarfile.open(out, "w:xz", preset=9) as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)
        print(out, out.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
