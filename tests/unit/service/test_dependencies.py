"""Folders of packages: one for each set of requirements, made once, whole or not at all, and private."""

import os
import threading
import time

import pytest

from pitstop.errors import ArtifactError
from pitstop.model.data_folder import DataFolder
from pitstop.service.dependencies import Dependencies, NothingInstalled


class Writer:
    """An installer that writes a file for each requirement, at its own pace."""

    def __init__(self):
        self.present, self.identity = {"pyspark": "4.3.0"}, ("py3", "here")
        self.installed, self.go, self.failure = [], threading.Event(), None
        self.go.set()

    def install(self, wanted, target, scratch):
        self.installed.append([one.line for one in wanted])
        (scratch / "of its own").write_text("")
        target.mkdir()
        for one in wanted:
            path = target / one.text
            path.write_text("x")
            path.chmod(0o755)
        assert self.go.wait(30)
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def writer():
    return Writer()


@pytest.fixture
def dependencies(tmp_path, writer):
    return Dependencies(DataFolder(tmp_path), writer)


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.py"
    path.write_text("")
    return path


def left(tmp_path):
    return sorted(path.name for path in (tmp_path / "dependencies").glob("*"))


def test_what_needs_nothing_has_no_folder(dependencies, job, writer, tmp_path):
    assert dependencies.folder_for(job) is None
    assert dependencies.folder_for(job, ("pyspark>=4",)) is None
    assert (writer.installed, left(tmp_path)) == ([], [])


def test_the_same_requirements_have_one_folder_however_they_are_written(dependencies, job, writer, tmp_path):
    folder = dependencies.folder_for(job, ("Six>=1", "attrs"))
    assert dependencies.folder_for(job, ("attrs", "six >= 1", "pyspark")) == folder
    assert writer.installed == [["attrs", "six>=1"]]
    assert left(tmp_path) == [folder.name]
    assert sorted(path.name for path in folder.iterdir()) == ["attrs", "six>=1"]
    assert dependencies.folder_for(job, ("attrs",)) != folder


def test_another_python_index_or_release_of_the_server_has_another_folder(dependencies, job, writer):
    first = dependencies.folder_for(job, ("six",))
    writer.identity = ("py4", "here")
    second = dependencies.folder_for(job, ("six",))
    writer.present = {"pyspark": "4.4.0"}
    assert len({first, second, dependencies.folder_for(job, ("six",))}) == 3


def test_two_who_ask_at_once_get_one_that_is_made_once(dependencies, job, writer):
    writer.go.clear()
    found = []
    threads = [threading.Thread(target=lambda: found.append(dependencies.folder_for(job, ("six",)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    while not writer.installed:
        assert time.monotonic() < deadline
    writer.go.set()
    for thread in threads:
        thread.join(30)
    assert len(writer.installed) == 1
    assert (len(found), len(set(found))) == (8, 1)


def test_who_waits_for_one_that_fails_is_told_so_too_and_the_next_tries_again(dependencies, job, writer, tmp_path):
    writer.go.clear()
    writer.failure = ArtifactError("no such package.")
    told = []

    def ask():
        with pytest.raises(
            ArtifactError, match=r"^The requirements of job\.py could not be installed: no such package\.$"
        ) as error:
            dependencies.folder_for(job, ("six",))
        told.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    writer.go.set()
    for thread in threads:
        thread.join(30)
    assert len(told) == 4
    assert left(tmp_path) == [], "nothing is left of it"
    writer.failure = None
    assert dependencies.folder_for(job, ("six",)).is_dir()


def test_a_full_disk_is_one_sentence_and_leaves_nothing(dependencies, job, writer, tmp_path):
    writer.failure = OSError(28, "No space left on device")
    with pytest.raises(ArtifactError, match=r"^The requirements of job\.py could not be installed: .*No space left on device"):
        dependencies.folder_for(job, ("six",))
    assert left(tmp_path) == []


def test_nobody_else_may_read_or_run_what_is_in_it(dependencies, job):
    folder = dependencies.folder_for(job, ("six",))
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o700}
    assert folder.stat().st_mode & 0o077 == 0


def test_one_that_is_asked_for_again_is_young_again(dependencies, job):
    folder = dependencies.folder_for(job, ("six",))
    os.utime(folder, (0, 0))
    dependencies.folder_for(job, ("six",))
    assert time.time() - folder.stat().st_mtime < 60


def test_a_server_that_installs_nothing_says_so_and_runs_what_needs_nothing(tmp_path, job):
    dependencies = Dependencies(DataFolder(tmp_path), NothingInstalled())
    assert dependencies.folder_for(job) is None
    with pytest.raises(ArtifactError, match="This server installs no packages, and the job requires six: put them"):
        dependencies.folder_for(job, ("six",))
