"""Sessions start from the archive of Spark's classes."""

import os
import subprocess
import sys

import pytest

START = """
import sys
from pathlib import Path
from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import build_session, end_session
end_session(build_session(ClusterSettings(), Path(sys.argv[1])))
"""


def run(*arguments, **environment):
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=os.environ | environment)


@pytest.mark.long
def test_nearly_all_of_spark_comes_from_the_archive(tmp_path):
    run("-m", "pitstop.runner.archiving")
    loaded = tmp_path / "classes"
    run("-c", START, str(tmp_path), JAVA_TOOL_OPTIONS=f"{os.environ['JAVA_TOOL_OPTIONS']} -Xlog:class+load:file={loaded}")
    of_spark = [line for line in loaded.read_text().splitlines() if " org.apache." in line]
    archived, read = ([line for line in of_spark if f" source: {source}" in line] for source in ("shared objects file", "file:"))
    assert len(archived) > 3_000
    assert len(read) < len(archived) / 100
