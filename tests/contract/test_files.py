"""What everything that checkpoints and snapshots are kept in promises."""

import time
from pathlib import Path

import pytest

from pitstop.errors import SnapshotError
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import export_checkpoint, lay_view, restore_files
from pitstop.snapshots.files import LocalFiles, checksum, read_text, write_text
from tests.doubles.files import MemoryFiles

SHA_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"""FIPS 180-2, appendix B.1."""


@pytest.fixture(params=["local", "memory"])
def kept(request, tmp_path):
    """Files, and a folder in them."""
    kinds = {"local": LocalFiles, "memory": MemoryFiles}
    return kinds[request.param](), tmp_path if request.param == "local" else Path("/data")


def tree(files, folder):
    return {str(path): read_text(files, folder / path) for path in files.walk(folder)}


def test_what_is_written_is_read_and_replaced(kept):
    files, root = kept
    for text in ("first", "second"):
        write_text(files, root / "a/b/c", text)
        assert read_text(files, root / "a/b/c") == text
    assert tree(files, root) == {"a/b/c": "second"}, "nothing else is left beside it"


def test_bytes_stay_what_they_are(kept):
    files, root = kept
    files.write(root / "a", bytes(range(256)))
    with files.open(root / "a") as file:
        assert file.read() == bytes(range(256))
    files.write(root / "abc", b"abc")
    assert checksum(files, root / "abc") == SHA_OF_ABC


def test_what_is_not_there_is_told_or_listed_as_nothing(kept):
    files, root = kept
    with pytest.raises(FileNotFoundError):
        files.open(root / "missing")
    with pytest.raises(FileNotFoundError):
        files.copy(root / "missing", root / "copy")
    assert (files.names(root / "missing"), files.walk(root / "missing"), files.facts(root / "missing")) == ([], [], None)
    files.remove(root / "missing")


def test_names_are_those_right_in_a_folder_and_a_walk_finds_all_below(kept):
    files, root = kept
    for path in ("a/1", "a/.1.crc", "a/b/2", "a/b/c/3", "d/4"):
        write_text(files, root / path, path)
    assert sorted(files.names(root / "a")) == [".1.crc", "1", "b"]
    assert files.walk(root / "a") == [Path(".1.crc"), Path("1"), Path("b/2"), Path("b/c/3")]


def test_facts_are_those_of_files_only(kept):
    files, root = kept
    began = time.time()
    write_text(files, root / "a/1", "four")
    facts = files.facts(root / "a/1")
    assert facts.bytes == 4
    assert began - 5 < facts.modified < time.time() + 5
    assert files.facts(root / "a") is None


def test_a_copy_and_its_original_do_not_share_what_is_written_later(kept):
    files, root = kept
    write_text(files, root / "original", "old")
    files.copy(root / "original", root / "x/copy")
    files.copy(root / "original", root / "x/other")
    assert tree(files, root) == {"original": "old", "x/copy": "old", "x/other": "old"}
    write_text(files, root / "x/copy", "new")
    assert tree(files, root) == {"original": "old", "x/copy": "new", "x/other": "old"}
    write_text(files, root / "original", "newer")
    files.remove(root / "original")
    assert tree(files, root) == {"x/copy": "new", "x/other": "old"}


def test_a_folder_is_removed_with_all_below_it_and_a_file_alone(kept):
    files, root = kept
    for path in ("a/1", "a/b/2", "ab/3", "c"):
        write_text(files, root / path, path)
    files.remove(root / "a")
    assert set(tree(files, root)) == {"ab/3", "c"}
    files.remove(root / "c")
    assert set(tree(files, root)) == {"ab/3"}


def test_a_finished_folder_takes_the_place_of_another_as_a_whole(kept):
    files, root = kept
    for path in ("making/manifest", "making/data/new", "there/manifest", "there/data/old"):
        write_text(files, root / path, path)
    files.publish(root / "making", root / "there")
    expected = {"there/manifest": "making/manifest", "there/data/new": "making/data/new"}
    assert tree(files, root) == expected
    write_text(files, root / "making/manifest", "again")
    files.publish(root / "making", root / "deep/new")
    assert tree(files, root) == expected | {"deep/new/manifest": "again"}


def checkpoint_of(files, folder):
    """Three epochs of a job with one source, the last one not committed, and files of state."""
    made = Checkpoint(folder, files)
    for epoch in (0, 1, 2):
        made.write_offsets(
            epoch, OffsetLog({"batchWatermarkMs": 7, "conf": {"spark.sql.shuffle.partitions": "3"}}, (f'"{epoch}"',))
        )
    for epoch in (0, 1):
        made.write_commit(epoch, 1000 + epoch)
    made.write_facts({"job_id": "j", "job_name": "job", "lineage": "l", "plan": {"a": 1}, "sources": [["in", ""]]})
    write_text(files, folder / "metadata", '{"id": "query"}')
    for name in ("1.changelog", "2.changelog", "3.changelog", ".4.zip.uuid.tmp"):
        write_text(files, folder / "state/0/1" / name, name)
    note = '{"stateStoreInfo":[{"storeName":"default","stateSchemaFilePaths":["file:/gone/state/0/_stateSchema/default/0_a"]}]}'
    write_text(files, folder / "state/0/_metadata/v2/0", f"v2\n{note}")
    return made


def test_a_checkpoint_is_read_wherever_it_is(kept):
    files, root = kept
    made = checkpoint_of(files, root / "checkpoint-l")
    assert (made.committed(), made.planned(), made.partitions(), made.next_watermark(1)) == (1, 2, 3, 1001)
    assert made.committed_at(1) == files.facts(made.path / "commits/1").modified
    assert made.committed_at(2) is None
    assert made.offsets_by_source(1) == {"in": {"": '"1"'}}
    made.drop_after(0)
    assert (made.committed(), made.planned()) == (0, 0)


def test_a_snapshot_is_exported_verified_and_restored_wherever_it_is(kept):
    files, root = kept
    data = DataFolder(root)
    made = checkpoint_of(files, data.job("j").checkpoint("l"))
    for _ in range(2):
        record = export_checkpoint(made, data.snapshot("s"), "s")
    assert (record.epoch, record.path, record.job_name) == (1, str(root / "snapshots/s"), "job")
    folder = data.snapshot("s")
    manifest = manifests.read(folder, files)
    names = {file.path for file in manifest.files}
    assert {"offsets/1", "commits/1", "state/0/1/2.changelog", "pitstop.json", "metadata"} <= names
    assert not names & {"offsets/2", "state/0/1/3.changelog", "state/0/1/.4.zip.uuid.tmp"}
    assert files.names(data.snapshots) == ["s"], "nothing is left of the making"
    manifests.verify(folder, manifest, "job", files)
    restore_files(folder, manifest, root / "restored", files)
    restored = Checkpoint(root / "restored", files)
    assert (restored.committed(), restored.offsets_by_source(1)) == (1, {"in": {"": '"1"'}})
    restored.rename_query()
    restored.write_commit(1, 5)
    lay_view(folder, manifest, root / "view", files)
    seen = Checkpoint(root / "view" / manifests.FILES, files)
    assert seen.schema_files(0) == {"default": [f"file:{root}/view/checkpoint/state/0/_stateSchema/default/0_a"]}
    manifests.verify(folder, manifest, "job", files)


def test_damage_of_a_snapshot_is_seen_wherever_it_is(kept):
    files, root = kept
    export_checkpoint(checkpoint_of(files, root / "checkpoint-l"), DataFolder(root).snapshot("s"), "s")
    folder = DataFolder(root).snapshot("s")
    manifest = manifests.read(folder, files)
    state = folder / manifests.FILES / "state/0/1/2.changelog"
    write_text(files, state, "3.changelog")
    with pytest.raises(SnapshotError, match=r"1 of its files does not match their checksums \(state/0/1/2.changelog\)"):
        manifests.verify(folder, manifest, "job", files)
    files.remove(state)
    with pytest.raises(SnapshotError, match=r"but 1 is missing \(state/0/1/2.changelog\)"):
        manifests.verify(folder, manifest, "job", files)
    files.remove(folder / "manifest.json")
    with pytest.raises(SnapshotError, match="it has no manifest"):
        manifests.read(folder, files)
