"""The files of jobs, with the versions that use them."""

import dataclasses
import hashlib
import os

from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.service.artifacts import store_artifact
from pitstop.service.kept_artifacts import ArtifactUse, artifacts_of


def job(name, number, artifact):
    return Job(f"id-{name}", name, 0.0, Version(number, JobSource(str(artifact)), {}, JobConfig()), JobState.RUNNING)


def test_each_file_comes_with_its_facts_and_with_all_versions_that_use_it(tmp_path):
    data = DataFolder(tmp_path)
    first, second = store_artifact(data, "b.py", b"# first"), store_artifact(data, "b.py", b"# second")
    other, unused = store_artifact(data, "a.py", b"# first"), store_artifact(data, "jöb.zip", b"")
    os.utime(first, (1.5, 1.5))
    jobs = [job("cars", 3, second), job("trucks", 1, first)]
    kept = [("id-cars", 3, str(second)), ("id-cars", 2, str(first)), ("id-cars", 1, str(first)), ("id-trucks", 1, str(first))]
    found = artifacts_of(data, jobs, kept)
    by_place = sorted([other, first, second, unused], key=lambda file: (file.name, file.parent.name))
    assert [artifact.path for artifact in found] == [str(file) for file in by_place]
    facts = {artifact.path: artifact for artifact in found}
    assert facts[str(first)].used_by == [
        ArtifactUse("id-cars", "cars", 2, False),
        ArtifactUse("id-cars", "cars", 1, False),
        ArtifactUse("id-trucks", "trucks", 1, True),
    ]
    assert facts[str(second)].used_by == [ArtifactUse("id-cars", "cars", 3, True)]
    assert facts[str(other)].used_by == facts[str(unused)].used_by == []
    told = facts[str(first)]
    assert (told.name, told.sha256, told.bytes, told.stored) == ("b.py", hashlib.sha256(b"# first").hexdigest(), 7, 1.5)


def test_the_version_of_a_job_of_an_older_release_counts_too_and_so_does_one_recorded_before_the_folder_was_moved(tmp_path):
    before, data = DataFolder(tmp_path / "before"), DataFolder(tmp_path / "after")
    recorded = store_artifact(before, "job.py", b"# a job")
    before.root.rename(data.root)
    (found,) = artifacts_of(data, [job("cars", 1, recorded)], [])
    assert found.path == str(data.artifacts / recorded.parent.name / "job.py")
    assert found.used_by == [ArtifactUse("id-cars", "cars", 1, True)]


def test_what_is_just_written_or_removed_is_left_out(tmp_path):
    data = DataFolder(tmp_path)
    assert artifacts_of(data, [], []) == []
    kept = store_artifact(data, "job.py", b"# a job")
    (kept.parent / ".1234.tmp").touch()
    (kept.parent / "folder").mkdir()
    (kept.parent / "gone").symlink_to(tmp_path / "nosuch")
    (kept.parent / os.fsdecode(b"no \xff text.py")).touch()
    going = store_artifact(data, "other.py", b"# another").parent
    going.rename(going.with_name(f".{going.name}.going"))
    (data.artifacts / "file").touch()
    assert [artifact.name for artifact in artifacts_of(data, [], [])] == ["job.py"]


def test_a_job_without_a_name_uses_its_file_all_the_same(tmp_path):
    data = DataFolder(tmp_path)
    nameless = dataclasses.replace(job("cars", 1, store_artifact(data, "job.py", b"")), name=None)
    (found,) = artifacts_of(data, [nameless], [])
    assert found.used_by == [ArtifactUse("id-cars", None, 1, True)]
