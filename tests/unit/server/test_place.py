"""A data folder that was moved is noticed before any job is looked at: all that notes its path is set right."""

import json
import stat
from contextlib import closing

import pytest

from pitstop.errors import ConflictError
from pitstop.launchers.processes import own_handle
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import UpdateJob
from pitstop.model.snapshot import SnapshotRecord
from pitstop.server.place import settle_place
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.store.database import open_database
from pitstop.store.leadership import SqlLeadership
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from tests.contract.stores import DATABASES
from tests.doubles.wake import MemoryWake

ID = "0000-0000-0000-0001"


def filled(data, url, handle="another-boot/1/1"):
    """A store and a checkpoint with everything in them that notes a path of the folder."""
    artifact, packages = data.artifact("abc", "job.py"), data.dependencies_of("def")
    source = JobSource(str(artifact), None, (str(data.root / "in"), "/elsewhere"), str(packages))
    config = JobConfig()
    with closing(open_database(url)) as database:
        registry = SqlRegistry(database)
        registry.add_job(Job(ID, "job", 0.0, Version(1, source, {}, config), JobState.RUNNING, token=1))
        registry.add_operation(ID, UpdateJob(source, {}, "saved"))
        registry.add_snapshot(SnapshotRecord("s", ID, "job", 1.0, 1, str(data.snapshots / "s@1")))
        SqlRunnerLink(database, MemoryWake()).claim(ID, 1, handle, 0.0)
    notes = data.job(ID).checkpoint("l1") / "state/0/_metadata/v2/3"
    notes.parent.mkdir(parents=True)
    schema = f"file:{data.job(ID).checkpoint('l1')}/state/0/_stateSchema/default/0_x"
    notes.write_text("v2\n" + json.dumps({"stateStoreInfo": [{"storeName": "default", "stateSchemaFilePaths": [schema]}]}))


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    return DATABASES[request.param](tmp_path)


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "of-a-release-that-did-not-record-it"])
def test_all_that_notes_its_path_is_set_right(tmp_path, url, recorded):
    """Each job once failed: the file of its code could not be found."""
    before, after = DataFolder(tmp_path / "before"), DataFolder(tmp_path / "after")
    filled(before, url)
    if recorded:
        settle_place(before, url)
        assert before.place.read_text() == str(before.root)
        assert stat.S_IMODE(before.place.stat().st_mode) == 0o600
    before.root.rename(after.root)
    settle_place(after, url)
    with closing(open_database(url)) as database:
        registry = SqlRegistry(database)
        sources = [registry.get_job(ID).version.source, *(operation.request.source for operation in registry.open_operations(ID))]
        snapshot = registry.get_snapshot("s")
    for source in sources:
        assert source.artifact == str(after.artifact("abc", "job.py"))
        assert source.dependencies == str(after.dependencies_of("def"))
        assert source.args == (str(before.root / "in"), "/elsewhere"), "what a user has given stays"
    assert snapshot.path == str(after.snapshots / "s@1")
    schemas = Checkpoint(after.job(ID).checkpoint("l1")).schema_files(0)
    assert schemas == {"default": [f"file:{after.job(ID).checkpoint('l1')}/state/0/_stateSchema/default/0_x"]}
    assert after.place.read_text() == str(after.root)


def test_a_folder_that_stays_is_left_alone_and_a_new_one_gets_its_record(tmp_path, url):
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    settle_place(data, url)
    settle_place(data, url)
    assert data.place.read_text() == str(data.root)


def test_it_is_refused_while_a_run_of_the_folder_goes_on(tmp_path, url):
    before, after = DataFolder(tmp_path / "before"), DataFolder(tmp_path / "after")
    filled(before, url, own_handle())
    before.root.rename(after.root)
    with pytest.raises(ConflictError, match=r"^The data folder .*/after was moved or copied from .*/before, and a process of it"):
        settle_place(after, url)
    with closing(open_database(url)) as database:
        source = SqlRegistry(database).get_job(ID).version.source
    assert source.artifact == str(before.artifact("abc", "job.py")), "nothing is changed"


def test_it_is_refused_while_another_server_uses_the_store(tmp_path, url):
    if url.startswith("sqlite"):
        pytest.skip("a server has such a store for itself")
    before, after = DataFolder(tmp_path / "before"), DataFolder(tmp_path / "after")
    filled(before, url)
    before.root.rename(after.root)
    with closing(open_database(url)) as database:
        SqlLeadership(database, "host:1").take(60.0)
        with pytest.raises(ConflictError, match="the server host:1 uses its store"):
            settle_place(after, url)
