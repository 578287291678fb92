"""What a class of an archive needs to be unpickled where the archive is not known."""

import importlib
import subprocess
import sys
import zipfile

import pyspark.cloudpickle
import pytest

from pitstop.spark.internals.archived_code import code_sent_along

UNPICKLE = "import sys, pyspark.cloudpickle; print(pyspark.cloudpickle.loads(sys.stdin.buffer.read()).doubled(21))"


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A class in an archive that uses another module of its package."""
    archive = tmp_path / "garage.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("garage/__init__.py", "")
        file.writestr("garage/tools.py", "def double(n):\n    return 2 * n\n")
        lines = ["from garage import tools", "class Reader:", "    doubled = staticmethod(lambda n: tools.double(n))"]
        file.writestr("garage/reader.py", "\n".join(lines))
    monkeypatch.syspath_prepend(str(archive))
    yield importlib.import_module("garage.reader").Reader
    for name in [name for name in sys.modules if name.partition(".")[0] == "garage"]:
        del sys.modules[name]


def unpickled(pickled):
    return subprocess.run([sys.executable, "-c", UNPICKLE], input=pickled, capture_output=True, check=False)


def test_a_class_of_an_archive_is_sent_with_the_code_that_it_uses(reader):
    with code_sent_along(reader):
        pickled = pyspark.cloudpickle.dumps(reader)
    assert unpickled(pickled).stdout == b"42\n"


def test_afterwards_it_is_sent_by_name_again(reader):
    with code_sent_along(reader):
        pass
    assert b"No module named 'garage'" in unpickled(pyspark.cloudpickle.dumps(reader)).stderr
