"""What a server tells of itself, its cluster and its errors, over every service."""

import io
import tarfile

import pytest

from pitstop.errors import (
    ArtifactError,
    ConflictError,
    IncompatibleError,
    NotFoundError,
    UsageError,
)
from pitstop.kit.version import __version__
from pitstop.model.job import JobState
from pitstop.model.retention import KEPT
from pitstop.service.cluster_results import ClusterInfo
from pitstop.service.settings import KeepSetting
from tests.doors.doors import request, running
from tests.doubles.service import MEMBER

S = JobState


def test_what_needs_packages_is_refused_by_a_server_that_installs_none_before_anything_is_recorded(pair):
    service, state = pair
    needy = '# /// script\n# dependencies = ["six"]\n# ///\n'
    refused = (
        r"^The requirements of job\.py could not be installed: This server installs no packages, and the job requires six: put"
    )
    with pytest.raises(ArtifactError, match=refused):
        service.submit(request(text=needy))
    with pytest.raises(ArtifactError, match=refused):
        service.check(request(options={"requirements": ["six"]}))
    with pytest.raises(ArtifactError, match=r"^'git\+https://x' in the option requirements is not an installable requirement"):
        service.submit(request(options={"requirements": ["git+https://x"]}))
    assert service.jobs(include_ended=True) == []
    job = running(state)
    with pytest.raises(ArtifactError, match=refused):
        service.update(job, request(text=needy))
    assert service.job(job).status is S.RUNNING
    assert service.submit(request("other")).source.dependencies is None


def test_errors_keep_their_class_and_details_on_the_way(pair, monkeypatch):
    service, state = pair

    def refuse(*arguments):
        raise IncompatibleError("Stage 'speed' cannot go on.", stages=["speed"])

    monkeypatch.setattr(state, "delete_snapshot", refuse)
    with pytest.raises(IncompatibleError, match="cannot go on") as caught:
        service.delete_snapshot("s")
    assert caught.value.details == {"stages": ["speed"]}


def test_the_cluster_tells_its_state_and_members(pair):
    assert pair[0].server_info() == ClusterInfo("ACTIVE", __version__, 1, [MEMBER], 0, MEMBER.address)


def test_a_server_tells_how_much_it_keeps(pair):
    keep = pair[0].settings().keep
    assert [setting.name for setting in keep] == [kept.name for kept in KEPT]
    assert KeepSetting("result-time", "7 days", "7 days", KEPT[1].meaning) in keep


def test_a_backup_is_taken_of_all_there_is(pair, tmp_path):
    service, state = pair
    running(state)
    taken = service.backup(str(tmp_path / "backup"))
    assert (taken.folder, taken.jobs, taken.snapshots) == (str(tmp_path / "backup"), 1, 0)
    assert taken.bytes == sum(
        path.stat().st_size for path in (tmp_path / "backup").rglob("*") if path.is_file() and path.name != "backup.json"
    )
    with pytest.raises(UsageError, match=r"^The backup cannot go into .*/backup: give a new folder"):
        service.backup(str(tmp_path / "backup"))


def test_a_support_bundle_is_an_archive(pair):
    with tarfile.open(fileobj=io.BytesIO(pair[0].support_bundle())) as archive:
        assert any(name.endswith("/jobs.json") for name in archive.getnames())


def test_an_engine_is_replaced_and_the_jobs_are_told_that_it_still_has(pair):
    service, _ = pair
    assert service.replace_engine("shared") == ["counting", "orders"]
    with pytest.raises(NotFoundError, match=r"^No engine 'critical' is up. Engines: shared\.$"):
        service.replace_engine("critical")


def test_members_are_added_and_leave(pair):
    service, _ = pair
    name = service.add_member()
    assert [member.name for member in service.server_info().members] == ["here", name]
    service.remove_member(name)
    with pytest.raises(NotFoundError, match=f"There is no member '{name}'"):
        service.remove_member(name)
    with pytest.raises(ConflictError, match="'here' is the last member"):
        service.remove_member("here")
    service.shut_down()
    assert service.server_info().state == "PASSIVE"
