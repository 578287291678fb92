"""Folders of packages on the path of Spark's Python workers."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession


def add_packages(spark: SparkSession, folder: Path, scratch: Path | None) -> None:
    """Let Python workers import from a folder.

    A worker joins an included name to a folder of its own, which leaves an absolute path as it is. That serves all processes of
    this machine, including Spark's that plan a streaming read, which see nothing of what is sent. ``scratch``: executors may be
    on other machines, so the packages are sent to them as well, in an archive there. They unpack it into a folder of its name,
    since native code cannot be imported from an archive.
    """
    context = spark.sparkContext
    included = context._python_includes
    assert included is not None, "a driver has a list of what its workers import"
    if scratch is not None:
        archive = shutil.make_archive(str(scratch / folder.name), "zip", folder)
        context.addArchive(f"{archive}#{folder.name}")
        included.append(folder.name)
    if str(folder.absolute()) not in included:
        included.append(str(folder.absolute()))
