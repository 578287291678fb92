"""A backup is the whole data folder at one moment, and is put back at any place."""

import json
import os
import stat
import threading
from contextlib import closing

import pytest

from pitstop.errors import ConflictError, SnapshotError, UsageError
from pitstop.launchers.processes import is_alive, own_handle
from pitstop.maps.ports import EpochId
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.snapshot import SnapshotRecord
from pitstop.server import backup
from pitstop.server.backup import Backups
from pitstop.server.exclusive import only_server
from pitstop.server.place import settle_place
from pitstop.server.restoring import restore_backup, withdraw_later
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import link_checkpoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from tests.contract.stores import DATABASES
from tests.doubles.wake import MemoryWake
from tests.unit.outputs.test_later import rows, seen, write

ID = "0000-0000-0000-0001"
MARK = EpochId("l1", "map", 7, digest="d")


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def plan_epoch(data, epoch):
    checkpoint = Checkpoint(data.job(ID).checkpoint("l1"))
    checkpoint.write_facts({"lineage": "l1", "plan": {"source_slots": [["in", "", 0]]}})
    checkpoint.write_offsets(epoch, OffsetLog({"batchWatermarkMs": 0}, (f'{{"n":{epoch}}}',)))
    put(checkpoint.path / "state/0/0" / f"{epoch + 1}.delta", str(epoch))
    return checkpoint


@pytest.fixture
def data(tmp_path):
    """A folder with a running job that has committed epoch 6 and is writing epoch 7, of which a map has its part."""
    folder = DataFolder(tmp_path / "data")
    folder.root.mkdir(mode=0o700)
    put(folder.artifact("abc", "job.py"), "# code")
    put(folder.dependencies_of("def") / "package/__init__.py", "x = 1")
    put(folder.snapshots / "s@1/manifest.json", "{}")
    put(folder.snapshots / ".being-made/x", "")
    put(folder.job(ID).log, "not copied")
    put(folder.token, "secret")
    folder.token.chmod(0o600)
    for epoch in range(8):
        plan_epoch(folder, epoch).begin_writing(epoch)
        if epoch < 7:
            plan_epoch(folder, epoch).write_commit(epoch, 0)
    return folder


@pytest.fixture
def database(data):
    with closing(open_database(sqlite_url(data.store))) as opened:
        source = JobSource(str(data.artifact("abc", "job.py")), None, (), str(data.dependencies_of("def")))
        registry = SqlRegistry(opened)
        registry.add_job(Job(ID, "job", 0.0, Version(1, source, {}, JobConfig()), JobState.RUNNING, token=1))
        registry.add_snapshot(SnapshotRecord("s", ID, "job", 1.0, 1, str(data.snapshots / "s@1")))
        SqlRunnerLink(opened, MemoryWake()).claim(ID, 1, own_handle(), 1000.0)
        SqlMapStore(opened).write_epoch("m", [("k", "7")], MARK, None)
        yield opened


def ended(database):
    """The run of the original dies."""
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE leases SET handle = 'another-boot/1/1'")


def test_all_of_a_moment_is_put_back_at_another_place(data, database, tmp_path):
    taken = Backups(database, data).take(tmp_path / "backup")
    assert (taken.jobs, taken.snapshots, taken.folder) == (1, 1, str(tmp_path / "backup"))
    assert not data.backup.exists()
    ended(database)
    SqlMapStore(database).put_all("m", [("k", "later")])
    there = DataFolder(tmp_path / "elsewhere")
    assert restore_backup(tmp_path / "backup", there.root) == []
    with closing(open_database(sqlite_url(there.store))) as restored:
        registry, maps = SqlRegistry(restored), SqlMapStore(restored)
        job = registry.get_job(ID)
        assert job.state is JobState.RUNNING
        assert job.version.source.artifact == str(there.artifact("abc", "job.py"))
        assert job.version.source.dependencies == str(there.dependencies_of("def"))
        assert registry.get_snapshot("s").path == str(there.snapshots / "s@1")
        assert maps.get("m", "k").value == "7"
        assert not maps.write_epoch("m", [("k", "8")], MARK, None), "the epoch that is done again is in already"
        assert not is_alive(registry.handle_of(ID, 1)), "the original's run is none of this one"
    checkpoint = Checkpoint(there.job(ID).checkpoint("l1"))
    assert (checkpoint.committed(), checkpoint.planned(), checkpoint.writing()) == (6, 7, 7)
    assert there.artifact("abc", "job.py").read_text() == "# code"
    assert (there.dependencies_of("def") / "package/__init__.py").read_text() == "x = 1"
    assert [path.name for path in there.snapshots.iterdir()] == ["s@1"]
    assert (there.token.read_text(), stat.S_IMODE(there.token.stat().st_mode)) == ("secret", 0o600)
    assert stat.S_IMODE(there.root.stat().st_mode) == 0o700
    assert not there.job(ID).log.exists()
    assert sorted(path.name for path in there.root.glob(".*")) == []
    settle_place(there, sqlite_url(there.store))


def test_secrets_are_nobody_else_s_in_the_backup(data, database, tmp_path):
    before = os.umask(0o022)
    try:
        Backups(database, data).take(tmp_path / "backup")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "backup/token").stat().st_mode) == 0o600


def test_no_map_changes_while_checkpoints_are_linked(data, database, tmp_path, monkeypatch):
    """Else a map had an epoch that the checkpoint beside it does not even plan, and its rows were lost or doubled."""
    maps, writing = SqlMapStore(database), []

    def link(checkpoint, target):
        def write_next():
            maps.write_epoch("m", [("k", "8")], EpochId("l1", "map", 8, digest="e"), None)

        writer = threading.Thread(target=write_next)
        writer.start()
        writer.join(0.3)
        writing.append((writer, writer.is_alive()))
        link_checkpoint(checkpoint, target)

    monkeypatch.setattr(backup, "link_checkpoint", link)
    Backups(database, data).take(tmp_path / "backup")
    [(writer, waited)] = writing
    writer.join(30)
    assert waited, "it waits until all is linked"
    assert maps.get("m", "k").value == "8"
    ended(database)
    restore_backup(tmp_path / "backup", tmp_path / "there")
    with closing(open_database(sqlite_url(tmp_path / "there/pitstop.db"))) as restored:
        assert SqlMapStore(restored).get("m", "k").value == "7"


def test_what_was_written_after_the_backup_is_set_aside(data, database, tmp_path):
    out = tmp_path / "out"
    for epoch in (5, 6):
        write(data, out, "l1", epoch, None)
    Backups(database, data).take(tmp_path / "backup")
    for epoch in (7, 8, 9):
        write(data, out, "l1", epoch, "other")
    ended(database)
    [kept] = [restore_backup(tmp_path / "backup", tmp_path / "kept", keep_outputs=True)]
    assert kept == []
    assert seen(out) == rows("l1", range(5, 10))
    [told] = restore_backup(tmp_path / "backup", tmp_path / "there")
    assert (told.sink, told.folder, told.files) == ("rows", str(out), 6)
    assert seen(out) == rows("l1", (5, 6))
    assert [told.files for told in withdraw_later(tmp_path / "kept")] == [0]


def test_nothing_is_withdrawn_from_an_original_that_goes_on(data, database, tmp_path):
    Backups(database, data).take(tmp_path / "backup")
    with pytest.raises(ConflictError, match=r"of which the backup was taken, or a job of it still runs, .* --keep-outputs"):
        restore_backup(tmp_path / "backup", tmp_path / "there")
    assert not (tmp_path / "there").exists()
    with pytest.raises(ConflictError, match="goes on"):
        withdraw_later(data.root)
    ended(database)
    with only_server(data):
        with pytest.raises(ConflictError, match="of which the backup was taken"):
            restore_backup(tmp_path / "backup", tmp_path / "there")
        with pytest.raises(ConflictError, match="already serves"):
            withdraw_later(data.root)
    restore_backup(tmp_path / "backup", tmp_path / "there")


def test_a_damaged_backup_is_told_and_not_gone_on_with(data, database, tmp_path):
    taken = tmp_path / "backup"
    Backups(database, data).take(taken)
    ended(database)
    contents = (taken / backup.CONTENTS).read_bytes()
    for number, damage in enumerate((contents.replace(b"abc", b"abd", 1), contents[:-2], b"{}")):
        (taken / backup.CONTENTS).write_bytes(damage)
        with pytest.raises(SnapshotError, match=r"^The backup in .* is damaged"):
            restore_backup(taken, tmp_path / f"there-{number}")
    (taken / backup.CONTENTS).write_bytes(contents)
    for number, file in enumerate(json.loads(contents)["files"]):
        path, there = taken / file["path"], tmp_path / f"file-{number}"
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"?" if content else b"?")
        with pytest.raises(SnapshotError, match="does not match its checksum"):
            restore_backup(taken, there)
        assert not DataFolder(there).store.exists()
        path.write_bytes(content)
    (taken / "token").unlink()
    with pytest.raises(SnapshotError, match="is missing"):
        restore_backup(taken, tmp_path / "last")


def test_a_place_that_is_none_is_refused(data, database, tmp_path):
    desk = Backups(database, data)
    put(tmp_path / "full/x", "")
    for wrong in (data.root / "x", data.root, data.root.parent, tmp_path / "full", tmp_path / "full/x"):
        with pytest.raises(UsageError, match=r"^The backup cannot go into"):
            desk.take(wrong)
    with pytest.raises(UsageError, match="is an absolute path"):
        desk.take(tmp_path.relative_to("/"))
    desk.take(tmp_path / "backup")
    ended(database)
    with pytest.raises(UsageError, match=r"give a new folder, or an empty one, with --data"):
        restore_backup(tmp_path / "backup", tmp_path / "full")
    with pytest.raises(UsageError, match="There is no backup in"):
        restore_backup(tmp_path / "full", tmp_path / "there")
    with pytest.raises(UsageError, match="There is no data of a server"):
        withdraw_later(tmp_path / "full")


@pytest.mark.skipif("postgres" not in DATABASES, reason="needs PostgreSQL")
def test_a_store_in_postgresql_is_left_to_its_own_tools(tmp_path):
    data = DataFolder(tmp_path / "data")
    data.root.mkdir()
    with closing(open_database(DATABASES["postgres"](tmp_path))) as opened, pytest.raises(UsageError, match="pg_dump"):
        Backups(opened, data).take(tmp_path / "backup")
