"""A manifest is read as it was written or not at all, and names files of its own snapshot only."""

import hashlib
import json

import pytest

from pitstop.errors import SnapshotError
from pitstop.model.snapshot import SnapshotFile, SnapshotManifest
from pitstop.snapshots import manifest


def written(folder, path, where="files"):
    file = (SnapshotFile(path, 1, "0" * 64),)
    more = {"files": file} if where == "files" else {"imported": {"stage": file}}
    facts = {"name": "s", "job_id": "j", "job_name": None, "lineage": "l", "epoch": 1, "created": 0.0, "watermark_ms": None}
    facts |= {"plan": {}, "partitions": 1, "provider": "p", "offsets": {}, "stages": {}, "versions": {}}
    manifest.write(folder, SnapshotManifest(**(facts | more)))


@pytest.mark.parametrize("where", ["files", "imported"])
@pytest.mark.parametrize(
    "path", ["../../../x", "/etc/cron.d/x", "state/../../x", "..", ".", "", "a//b", "./a", "a/", "a\0b", "a\nb"]
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, path, where):
    """Such a snapshot once passed its verification, and was written outside of the folder."""
    written(tmp_path, path, where)
    with pytest.raises(SnapshotError, match=r"^The manifest names a file outside of its snapshot \("):
        manifest.read(tmp_path)


@pytest.mark.parametrize("path", ["metadata", "state/0/1/2.zip", "state/0/1/_metadata/v2", "sources/0/..0", "ä b/…c"])
def test_a_path_below_the_folder_is_read(tmp_path, path):
    written(tmp_path, path)
    assert [file.path for file in manifest.read(tmp_path).files] == [path]


def test_each_flipped_bit_of_a_manifest_is_told_as_damage(tmp_path):
    """197 of 1,513 were once read as another manifest: another offset, another plan."""
    written(tmp_path, "metadata")
    path = tmp_path / "manifest.json"
    content = path.read_bytes()
    for place in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(SnapshotError, match="is damaged"):
            manifest.read(tmp_path)


def test_a_manifest_that_was_cut_off_or_is_none_is_told_as_damage(tmp_path):
    written(tmp_path, "metadata")
    path = tmp_path / "manifest.json"
    content = path.read_bytes()
    for wrong in (content[:-1], content[:100], b"", b"[]", b"7", content + b" "):
        path.write_bytes(wrong)
        with pytest.raises(SnapshotError, match="is damaged"):
            manifest.read(tmp_path)


def test_the_checksum_is_that_of_all_other_bytes(tmp_path):
    written(tmp_path, "metadata")
    content = (tmp_path / "manifest.json").read_bytes()
    told = json.loads(content)["sha256"]
    assert hashlib.sha256(content.replace(told.encode(), b"", 1)).hexdigest() == told


def test_a_manifest_of_a_release_that_wrote_no_checksum_is_read(tmp_path):
    written(tmp_path, "metadata")
    path = tmp_path / "manifest.json"
    fields = json.loads(path.read_bytes())
    del fields["sha256"]
    path.write_text(json.dumps(fields, indent=1))
    assert [file.path for file in manifest.read(tmp_path).files] == ["metadata"]


def test_a_manifest_of_a_later_format_asks_for_its_release(tmp_path):
    written(tmp_path, "metadata")
    path = tmp_path / "manifest.json"
    fields = json.loads(path.read_bytes())
    path.write_text(json.dumps(fields | {"format": 2, "news": 1}))
    with pytest.raises(SnapshotError, match="Use the release that wrote it"):
        manifest.read(tmp_path)
