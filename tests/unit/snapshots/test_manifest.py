"""A manifest names files of its own snapshot only."""

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
