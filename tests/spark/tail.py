"""Sources that a test feeds by hand: lines appended to a file of a folder each, with event times in seconds."""

import json

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import check

LAG = 2
SCHEMA = "key string, n bigint, at double"
TIME = "timestamp_micros(cast(at * 1000000 as bigint))"


class Tail:
    """``fed`` holds all (key, n, at) in the order in which they were appended."""

    def __init__(self, folder, name):
        self.folder, self.name = folder / name, name
        self.folder.mkdir()
        self.fed = []

    def stage(self, pipeline, **options):
        source = ps.sources.csv_tail(self.folder, schema=SCHEMA)
        return pipeline.read_from(source, name=self.name).with_columns(ts=TIME).with_timestamps("ts", LAG, **options)

    def feed(self, *rows):
        self.fed += rows
        with (self.folder / "rows.csv").open("a") as file:
            file.write("".join(f"{key},{n},{at}\n" for key, n, at in rows))

    @property
    def last(self):
        """The highest event time fed."""
        return max(at for _, _, at in self.fed)

    def wait_until_read(self, running):
        """Until all that was fed is in a committed epoch."""
        size = (self.folder / "rows.csv").stat().st_size

        def read():
            check(running)
            epoch = running.checkpoint.committed()
            offsets = running.checkpoint.offsets_by_source(epoch).get(self.name, {}) if epoch >= 0 else {}
            return bool(offsets) and all(position(offset) == size for offset in offsets.values())

        assert wait_until(read, 120)


def position(offset):
    """How many bytes an offset (JSON text) has read."""
    return sum(place for place, _ in json.loads(offset)["files"].values())
