"""A batch that is started again, after a failure or a kill, writes into each sink once."""

import dataclasses

import pytest

import pitstop as ps
from pitstop.errors import EngineError
from pitstop.model.data_folder import DataFolder
from pitstop.spark.running.bounded import BoundedRun
from pitstop.spark.starting.start_point import start_point
from tests.spark.test_rehearsal import compiled

pytestmark = pytest.mark.spark


class FullDisk:
    """A sink of one's own that fails at its first attempt."""

    def __init__(self):
        self.tried = 0

    def write(self, rows, info):
        self.tried += 1
        if self.tried == 1:
            raise OSError("no room")


@pytest.mark.long
def test_the_sinks_that_have_it_already_are_left_alone(spark, tmp_path):
    p, late = ps.Pipeline(), FullDisk()
    rows = p.read_from(ps.sources.items([(number,) for number in range(10)], "n int"), name="rows")
    rows.write_to(ps.sinks.files(tmp_path / "out", format="json"), name="files")
    rows.write_to(ps.sinks.custom(late), name="own")
    job, environment = compiled(spark, tmp_path, p)
    points, errors = [], []
    for _ in range(3):
        lineage = points[-1].lineage if points else None
        points.append(start_point(job, environment, DataFolder(tmp_path), lineage, lambda: None))
        run = BoundedRun(spark, p, dataclasses.replace(environment, lineage=points[-1].lineage))
        try:
            run.run()
        except EngineError as error:
            errors.append(error.message)
    assert len({point.lineage for point in points}) == 1, "sinks know by it what they have"
    assert late.tried == 3
    assert [message.partition(")")[2] for message in errors] == [" could not write an epoch: OSError: no room."]
    assert spark.read.json(str(tmp_path / "out")).count() == 10
