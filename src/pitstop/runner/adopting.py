"""The adoption of a checkpoint of Spark in a process of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.model.adoption import Adoption
from pitstop.model.data_folder import DataFolder
from pitstop.model.task import Adopt
from pitstop.runner.prepared import prepare
from pitstop.spark.adopting.adopting import Adopting, Request
from pitstop.spark.base.environment import SourceSettings


def adopted(spark: SparkSession, task: Adopt, scratch: Path) -> Adoption:
    """Compile the job and adopt the checkpoint for it, with scratch files below a folder that is removed."""
    settings = SourceSettings()
    try:
        prepared = prepare(spark, task.source, task.options, settings)
        request = Request(task.operators, task.sources)
        adopting = Adopting(prepared.compiled, task.checkpoint, request, settings, scratch)
        if task.only_plan:
            return adopting.plan()
        return adopting.export(DataFolder(Path(task.data)).new_snapshot(task.name), task.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
