"""What /metrics says of jobs, of a service that knows them: expected values are counted by hand."""

import dataclasses
import platform
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pitstop.kit.version import __version__
from pitstop.model.cluster import EngineInfo
from pitstop.model.job import DisplayStatus, Progress, TableAway
from pitstop.model.left_out import LeftOut
from pitstop.model.tally import RestartCause, Tally
from pitstop.rest.metrics import exposition
from pitstop.service.job_results import JobStatus
from tests.unit.control.test_life import S, job

NOW = 1_800_000_000.0
NOTHING = Progress()


def told(*statuses):
    """(metric, labels without the id) -> value; labels are (name, value) pairs."""
    return told_beside([], *statuses)


def told_beside(engines, *statuses):
    """The same of a server that has engines."""
    info = SimpleNamespace(engines=engines)
    service = SimpleNamespace(jobs=lambda include_ended: list(statuses), snapshots=list, maps=list, server_info=lambda: info)
    families = text_string_to_metric_families(exposition(service, lambda: NOW).decode())
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


def status(state, progress=NOTHING, id="1", name="fleet", **facts):
    return JobStatus.of(dataclasses.replace(job(state, **facts), id=id, name=name), progress)


def of(found, name):
    """(values of labels other than job and id) -> value."""
    return {
        tuple(value for key, value in labels if key not in ("job", "id")): value
        for (metric, *labels), value in found.items()
        if metric == name
    }


def test_the_build():
    assert of(told(), "pitstop_build_info") == {(platform.python_version(), __version__): 1.0}


def test_a_job_that_a_user_cancelled_is_cancelled_and_has_not_failed():
    found = told(status(S.FAILED, user_cancelled=True), status(S.FAILED, id="2", name="broken"))
    assert {labels["job"]: labels["status"] for (_, *pairs), _ in found.items() if "status" in (labels := dict(pairs))} == {
        "fleet": "CANCELLED",
        "broken": "FAILED",
    }


def test_a_job_that_has_not_ended_has_a_series_for_each_state():
    states = of(told(status(S.SUSPENDED)), "pitstop_job_status")
    assert states == {(state.value,): float(state == "SUSPENDED") for state in DisplayStatus}


def test_a_failure_is_told_until_a_newer_job_has_its_name():
    old, older = status(S.FAILED, id="2"), status(S.FAILED, id="1")
    nameless = [status(S.FAILED, id=number, name=None) for number in ("8", "9")]
    ids = lambda *jobs: sorted(dict(labels)["id"] for (name, *labels) in told(*jobs) if name == "pitstop_job_status")  # noqa: E731
    assert ids(old, older, *nameless) == ["2", "8", "9"]
    assert set(ids(status(S.RUNNING, id="3"), old, older)) == {"3"}
    assert ids(status(S.COMPLETED, id="3"), old) == ["3"]


def test_restarts_have_their_cause_and_causes_that_have_not_come_are_zero():
    counts = {RestartCause.LOST: 3, RestartCause.UPDATE: 2}
    found = told(status(S.RUNNING, tally=Tally(counts, 2, 1, 4.25), attempts=2))
    assert of(found, "pitstop_job_restarts_total") == {(cause.value,): counts.get(cause, 0) for cause in RestartCause}
    assert of(found, "pitstop_job_updates_total") == {("done",): 2, ("failed",): 1}
    assert of(found, "pitstop_job_update_gap_seconds") == {(): 4.25}
    assert of(found, "pitstop_job_attempts") == {(): 2}


def test_without_an_update_there_is_no_gap():
    assert of(told(status(S.RUNNING)), "pitstop_job_update_gap_seconds") == {}


@pytest.mark.parametrize("state", list(S))
def test_how_far_a_job_is_behind_the_clock_unless_it_is_suspended_or_has_ended(state):
    progress = Progress(epoch=4, watermark_ms=round((NOW - 90.5) * 1000), epoch_at=NOW - 12.25)
    found = told(status(state, progress))
    shown = state in (S.NOT_RUNNING, S.STARTING, S.RUNNING, S.COMPLETING)
    assert of(found, "pitstop_job_watermark_lag_seconds") == ({(): 90.5} if shown else {})
    assert of(found, "pitstop_job_seconds_since_epoch") == ({(): 12.25} if shown else {})


def test_before_the_first_epoch_nobody_is_behind():
    found = told(status(S.RUNNING))
    assert of(found, "pitstop_job_watermark_lag_seconds") == of(found, "pitstop_job_seconds_since_epoch") == {}


def test_rows_by_fate_count_stages_that_an_update_has_dropped_and_begin_at_zero():
    stages = {"in": {"unparsed_rows": 2}, "window": {"late_rows": 5, "rows_in": 90}, "other": {"late_rows": 1}}
    progress = Progress(input_rows=100, stages=stages, left_out_before={LeftOut.LATE: 10, LeftOut.KEYLESS: 4})
    expected = {(reason.label,): 0 for reason in LeftOut} | {("read",): 100, ("unparsed",): 2, ("late",): 16, ("keyless",): 4}
    assert of(told(status(S.RUNNING, progress)), "pitstop_job_rows_total") == expected


def test_how_much_a_source_is_behind():
    stages = {"tail": {"behind": 12, "behind_in": "bytes"}, "journal": {"behind": 0, "behind_in": "events"}, "files": {}}
    lags = of(told(status(S.RUNNING, Progress(stages=stages))), "pitstop_source_lag")
    assert lags == {("tail", "bytes"): 12, ("journal", "events"): 0}


def test_the_lag_of_parts_is_told_where_all_of_them_are_known():
    few = {"behind": 12, "behind_in": "messages", "behind_by_part": {"orders:1": 9, "orders:0": 3}, "parts": 2}
    many = {"behind": 70, "behind_in": "messages", "behind_by_part": {f"clicks:{n}": 1 for n in range(70)}, "parts": 1000}
    progress = Progress(stages={"orders": few, "clicks": many, "tail": {"behind": 5, "behind_in": "bytes"}})
    metrics = told(status(S.RUNNING, progress))
    assert of(metrics, "pitstop_source_part_lag") == {
        ("orders:0", "orders", "messages"): 3,
        ("orders:1", "orders", "messages"): 9,
    }
    sums = {("clicks", "messages"): 70, ("orders", "messages"): 12, ("tail", "bytes"): 5}
    assert of(metrics, "pitstop_source_lag") == sums


def test_what_needs_somebody():
    away = TableAway("join", NOW - 60, NOW - 600, "gone")
    found = told(status(S.RUNNING, Progress(tables_away=(away,), busy_seconds=70)))
    assert of(found, "pitstop_job_tables_away") == {(): 1}
    assert of(found, "pitstop_job_epoch_busy_seconds") == {(): 70}
    for cause, value in (("Requested by user", 0), ("Execution failure:\nboom", 1)):
        found = told(status(S.SUSPENDED, suspension_cause=cause))
        assert of(found, "pitstop_job_suspended_by_failure") == {(): value}


def test_engines_have_their_jobs_memory_and_time():
    engine = EngineInfo("shared", "shared-1f", ["a", "b"], 1, 3 << 26, 4 << 30, 2, NOW - 90)
    metrics = told_beside([engine])
    assert {name: value for (name, *labels), value in metrics.items() if ("engine", "shared") in labels} == {
        "pitstop_engine_jobs": 2,
        "pitstop_engine_heap_bytes": 201326592,
        "pitstop_engine_heap_max_bytes": 4294967296,
        "pitstop_engine_uptime_seconds": 90,
    }
