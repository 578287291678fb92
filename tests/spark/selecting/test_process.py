"""The process that carries out SELECT goes on, as another one, when its Java is gone."""

import os

import psutil
import pytest

from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.launchers.queries import QueryProcess
from pitstop.machine.rotating import Rotation
from pitstop.model.data_folder import DataFolder
from pitstop.model.selecting import Select

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

LARGE = "SELECT size(array_repeat(id, 300000000)) AS n FROM (SELECT explode(sequence(1, 2)) AS id)"


@pytest.fixture
def process(tmp_path):
    environment = {**os.environ, "PITSTOP_DRIVER_MEMORY": "512m"}
    made = QueryProcess(DataFolder(tmp_path), f"sqlite:///{tmp_path / 'store.db'}", environment, Rotation())
    yield made
    made.close()


def rows(process, text):
    answers = process.run(lambda number: Select(number, text, 1, 1))
    return [row for answer in answers for row in answer.get("rows", ())]


def java_of(data):
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if process.info["cmdline"] and os.path.basename(process.info["cmdline"][0]) == "java":
            found += [process] if str(data) in " ".join(process.info["cmdline"]) else []
    return found


def folders(data):
    return list(DataFolder(data).queries.glob("select-*"))


def test_a_query_that_comes_after_java_has_ended_is_carried_out(process, tmp_path):
    (DataFolder(tmp_path).queries / "select-left").mkdir(parents=True)
    assert rows(process, "SELECT 1") == [[1]]
    assert wait_until(lambda: not folders(tmp_path), 30), "a folder that another process has left stays"
    (java,) = java_of(tmp_path)
    java.kill()
    assert wait_until(lambda: not java_of(tmp_path), 30), "the process has outlived its Java"
    assert rows(process, "SELECT 2") == [[2]]

    with pytest.raises(EngineError, match=r"has ended, as it does when its memory is full: .* \$PITSTOP_DRIVER_MEMORY gives"):
        rows(process, LARGE)
    assert rows(process, "SELECT 3") == [[3]]
    assert wait_until(lambda: not folders(tmp_path), 30), "queries whose process has ended have left their folders"
