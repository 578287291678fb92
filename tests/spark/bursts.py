"""Events in files, an epoch each, which Spark reads without a process of Python's."""

import json
import os
from collections import Counter

import pitstop as ps
from tests.spark.harness import FilesHarness
from tests.spark.sequence import events

STEP, KEYS, PAUSE_MS = 200, 5, 10_000
"""A file has so many events, of so many keys; the next one's are so much later, so that windows and sessions have ended."""


def write_files(folder, epochs):
    """Write those that are not there yet."""
    folder.mkdir(exist_ok=True)
    happened = list(events(epochs * STEP, KEYS, STEP, PAUSE_MS))
    for epoch in range(len(list(folder.iterdir())), epochs):
        file = folder / f"{epoch}.json"
        rows = (dict(zip(("seq", "key", "v", "ms"), event, strict=True)) for event in happened[epoch * STEP : (epoch + 1) * STEP])
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(file, (1_700_000_000 + epoch,) * 2)


def bursts(p, folder, name="numbers"):
    source = ps.sources.files(
        str(folder), format="json", schema="seq bigint, key bigint, v bigint, ms bigint", streaming=True, maxFilesPerTrigger=1
    )
    return p.read_from(source, name=name).with_columns(ts="timestamp_millis(ms)").with_timestamps("ts", allowed_lag="2 seconds")


def running_counts(epochs):
    """seq -> the count of its key so far, of the events of these epochs, by plain Python."""
    counts, found = Counter(), {}
    for seq, key, _, _ in events((max(epochs) + 1) * STEP, KEYS):
        counts[key] += 1
        found[seq] = counts[key]
    return {seq: n for seq, n in found.items() if seq // STEP in epochs}


class Bursts(FilesHarness):
    """Runs versions over a folder of such files, on one checkpoint after the other, or again on the same."""

    def __init__(self, spark, folder, epochs, maps=None):
        super().__init__(spark, folder, maps)
        self.events = folder / "in"
        self.come(epochs)

    def come(self, epochs):
        """Let so many files be there."""
        self.epochs = epochs
        write_files(self.events, epochs)

    def begin(self, built, name="checkpoint"):
        return self.start(built, self.folder / name, 2)

    def finish(self, built, name="checkpoint"):
        """Go on until all files are read, and stop; returns the checkpoint."""
        running = self.begin(built, name)
        self.wait_for(running, self.epochs)
        running.stop(60)
        return running.checkpoint
