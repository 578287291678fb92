"""Adoptions of checkpoints, over every service."""

import pytest

from pitstop.client.http import HttpService
from pitstop.errors import ConflictError, UsageError
from pitstop.service.api import SubmitRequest
from tests.doors.conftest import TOKEN

JOB = SubmitRequest("orders.py", b"# stage: speed bigint")


def test_a_plan_makes_nothing(pair):
    service, state = pair
    plan = service.adopt(JOB, "/data/checkpoint", operators={0: "speed"}, only_plan=True)
    assert (plan.checkpoint, plan.begins_empty, plan.snapshot) == ("/data/checkpoint", ["speed"], None)
    assert state.snapshots() == []


def test_a_snapshot_is_made_and_has_the_name_of_the_job(pair):
    service, _ = pair
    adoption = service.adopt(JOB, "/data/checkpoint")
    assert adoption.snapshot is not None
    assert [record.name for record in service.snapshots()] == [adoption.snapshot.name] == ["orders"]
    assert service.adopt(JOB, "/data/checkpoint", "other").snapshot.name == "other"


def test_no_snapshot_is_replaced(pair):
    service, _ = pair
    first = service.adopt(JOB, "/data/checkpoint", "saved").snapshot
    with pytest.raises(ConflictError, match=r"^There is a snapshot 'saved': choose another name \(--name\), or delete it\.$"):
        service.adopt(JOB, "/data/checkpoint", "saved")
    assert service.snapshots() == [first]
    assert service.adopt(JOB, "/data/checkpoint", "saved", only_plan=True).snapshot is None


def test_a_name_that_is_none(pair):
    service, _ = pair
    with pytest.raises(UsageError):
        service.adopt(JOB, "/data/checkpoint", "a/b")


def test_a_relative_path_counts_from_the_folder_of_whoever_asks(serve, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    service = HttpService(serve(state), TOKEN, names_folders=True)
    assert service.adopt(JOB, "checkpoint", only_plan=True).checkpoint == f"{tmp_path}/checkpoint"
    service.close()


@pytest.mark.parametrize(("path", "base"), [("checkpoint", "folder"), ("~/checkpoint", "home")])
def test_and_is_refused_where_no_folder_is_named(serve, state, path, base):
    service = HttpService(serve(state), TOKEN, "kubernetes")
    said = f"^The checkpoint has the path '{path}', which counts from the {base} of whoever submits it"
    with pytest.raises(UsageError, match=said):
        service.adopt(JOB, path, only_plan=True)
    service.close()
