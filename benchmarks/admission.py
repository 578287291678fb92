"""300 MB of CSV with a short snapshot interval and with a long one: ``python benchmarks/admission.py [SECONDS ...]``.

Without arguments both are measured in turns, each in a process of its own, and their ratio is printed. Measured is from the end
of the first epoch, which is cold, to the last line; an epoch writes windows into parquet files.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import build_session

MEGABYTES, FILES, KEYS = int(os.environ.get("MEGABYTES", "300")), 4, 1000
ROUNDS = int(os.environ.get("ROUNDS", "1"))
SHORT, LONG = 1, 10


def write_lines(folder):
    """The files' size in bytes."""
    folder.mkdir()
    each, size = MEGABYTES * 1_000_000 // FILES, 0
    for number in range(FILES):
        with (folder / f"{number}.csv").open("w") as file:
            at = 0
            while file.tell() < each:
                file.write(
                    "".join(
                        f"key-{n * 7919 % KEYS:06d},{n % 90}.{n % 10},{1_700_000_000 + n // 10}\n" for n in range(at, at + 20_000)
                    )
                )
                at += 20_000
            size += file.tell()
    return size


def read(checkpoint, epoch):
    """Bytes read up to an epoch."""
    if epoch < 0:
        return 0
    offsets = checkpoint.offsets_by_source(epoch)["lines"]
    return sum(position for position, _ in json.loads(next(iter(offsets.values())))["files"].values())


def measure(seconds):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        size = write_lines(folder / "in")
        spark = build_session(ClusterSettings("local[2]"), folder / "work")
        p = ps.Pipeline()
        lines = p.read_from(ps.sources.csv_tail(str(folder / "in"), schema="key string, v double, at bigint"), name="lines")
        timed = lines.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts", allowed_lag="1 day")
        windows = timed.group_by("key").window(ps.tumbling("1 minute")).aggregate("sums", n=ps.count(), total=ps.sum("v"))
        windows.write_to(ps.sinks.files(str(folder / "out"), format="parquet"), name="out")
        job = ps.run(
            p, spark, data_dir=folder / "data", processing_guarantee="exactly_once", snapshot_interval=seconds, partitions=2
        )
        checkpoint = job._run.running.checkpoint
        assert wait_until(lambda: checkpoint.committed() >= 0, 300, step=0.02)
        first, begun = checkpoint.committed(), time.monotonic()
        before = read(checkpoint, first)

        def done():
            job._run.look()
            return read(checkpoint, checkpoint.committed()) >= size

        assert wait_until(done, 1800, step=0.1)
        took, epochs = time.monotonic() - begun, checkpoint.committed() - first
        job.stop()
    print(json.dumps({"mb_per_second": (size - before) / took / 1e6, "epoch_ms": took / epochs * 1000, "epochs": epochs}))


def main():
    if len(sys.argv) > 1:
        measure(float(sys.argv[1]))
        return
    speeds: dict = {SHORT: [], LONG: []}
    for _ in range(ROUNDS):
        for seconds in speeds:
            command = [sys.executable, __file__, str(seconds)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
            print(seconds, found, flush=True)
            speeds[seconds].append(found["mb_per_second"])
    print(f"ratio {max(speeds[SHORT]) / max(speeds[LONG]):.2f} (aim: 0.8)")


if __name__ == "__main__":
    main()
