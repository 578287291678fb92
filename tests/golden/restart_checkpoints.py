"""Records what Spark does with damaged checkpoints: ``python restart_checkpoints.py ARCHIVE OUT``.

Run it with the Python of an environment that has the release of pyspark that wrote ARCHIVE (record_checkpoints.py). Each file of
a checkpoint is taken away, cut in half, emptied or replaced by bytes of chance, with and without Hadoop's hidden checksums beside
the files, and the query is started again with one more file to read. OUT says for each of these whether Spark went on, and
whether with the rows of the whole checkpoint. The tests of ``pitstop doctor`` compare its verdicts with them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import record_checkpoints as recorded
from pyspark.sql import DataFrame, SparkSession

NAMES = ("window-hdfs", "processor", "window-changelog")
EPOCHS_OF_NOTE = 3
DAMAGES = ("missing", "empty", "cut", "garbage")


def damage(path: Path, kind: str) -> None:
    content = path.read_bytes()
    if kind == "missing":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(random.Random(7).randbytes(len(content)))


def relocate(checkpoint: Path) -> None:
    """Write the checkpoint's path into the metadata that name schemas by their path."""
    for metadata in checkpoint.glob("state/*/_metadata/v2/[0-9]*"):
        (metadata.parent / f".{metadata.name}.crc").unlink(missing_ok=True)
        metadata.write_text(re.sub(r"file:[^\"]*?/checkpoint/state/", f"file:{checkpoint}/state/", metadata.read_text()))


def restart(spark: SparkSession, scenario: recorded.Scenario, checkpoint: Path, inputs: Path) -> tuple[str, list[str]]:
    """Start the query of a scenario; return what became of it, and the rows that it gave."""
    rows: list[str] = []

    def write(batch: DataFrame, epoch: int) -> None:
        rows.extend(sorted(f"{epoch} {json.dumps(row.asDict(True), default=str)}" for row in batch.collect()))

    usual = {f"{recorded.STATE}.providerClass": recorded.HDFS, recorded.CHANGELOG: "false", "spark.sql.shuffle.partitions": "2"}
    for key, value in {**usual, **scenario.settings}.items():
        spark.conf.set(key, value)
    query = None
    try:
        writer = scenario.query(spark, inputs).writeStream.outputMode(scenario.mode)
        writer = writer.option("checkpointLocation", str(checkpoint)).foreachBatch(write)
        query = writer.trigger(availableNow=True).start()
        if not query.awaitTermination(60):
            query.stop()
            return "hangs", rows
    except Exception:
        return "fails", rows
    return "goes on", rows


def main(archive: Path, out: Path, only: list[str]) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    scenarios = {scenario.name: scenario for scenario in recorded.SCENARIOS}
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with tarfile.open(archive) as packed:
            packed.extractall(folder / "whole", filter="data")
        for name in only or NAMES:
            scenario, whole = scenarios[name], folder / "whole" / name / "checkpoint"
            if not whole.exists():
                continue
            inputs = recorded.INPUTS / name
            recorded.write_inputs(inputs, scenario.epochs)
            files = sorted(
                path.relative_to(whole)
                for path in whole.rglob("*")
                if path.is_file()
                and not path.name.startswith(".")
                and path.parts[-2:-1] != ("1",)
                and "/1/" not in str(path.relative_to(whole))
            )
            cases = [(None, "whole", hidden) for hidden in (True, False)]
            cases += [
                (path, kind, hidden)
                for path in files
                if name == NAMES[0] or path.parts[0] == "state"
                for kind, hidden in (("missing", False), ("cut", False), ("garbage", path.parts[0] == "state"))
            ]
            expected: list[str] = []
            for path, kind, hidden in cases:
                copy = folder / "copy"
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(whole, copy)
                if not hidden:
                    for crc in copy.rglob(".*.crc"):
                        crc.unlink()
                relocate(copy)
                if path is not None:
                    damage(copy / path, kind)
                outcome, rows = restart(spark.newSession(), scenario, copy, inputs)
                if path is None:
                    expected = rows
                    assert outcome == "goes on", f"{name} does not start"
                same = rows == expected
                results.append(
                    {"scenario": name, "file": str(path), "damage": kind, "hidden": hidden, "outcome": outcome, "same_rows": same}
                )
                print(name, path, kind, hidden, outcome[:160], same, flush=True)
                out.write_text("[\n" + ",\n".join(map(json.dumps, results)) + "\n]\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
