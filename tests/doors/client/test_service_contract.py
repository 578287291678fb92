"""One suite for every service: that of the server, and the same over HTTP."""

import json
import re
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.client.http import HttpService
from pitstop.errors import (
    ArtifactError,
    ConflictError,
    EngineError,
    IncompatibleError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from pitstop.kit.log_levels import LogLevel
from pitstop.kit.rotating import RotatingLog, Rotation
from pitstop.kit.version import __version__
from pitstop.model.history import KEEP_CHANGES, StateChange
from pitstop.model.job import JobState, Progress
from pitstop.model.report import Verdict
from pitstop.model.task import StateRows
from pitstop.service.results import ClusterInfo, Difference, JobHistory, LoggerLevel, LoggerScope, LogPage, MapFacts
from pitstop.testing.service import MEMBER
from tests.doors.conftest import TOKEN
from tests.doors.doors import MOMENT, brought_to, request, running, until

S = JobState


@pytest.fixture(params=["local", "http"])
def pair(request, state, serve):
    """(service under test, the service that keeps the state)."""
    if request.param == "local":
        yield state, state
        return
    client = HttpService(serve(state), TOKEN)
    yield client, state
    client.close()


def test_a_submitted_job_is_found_by_name_and_by_id_with_all_that_was_asked_for(pair):
    service, _ = pair
    options = {"processing_guarantee": "exactly_once", "partitions": 3, "spark": {"a.b": "c"}}
    job = service.submit(request("käse", entry="jobs:main", args=("a", "", "b c"), options=options))
    assert (job.status, job.submission_time, job.options) == (S.NOT_RUNNING, pytest.approx(MOMENT, abs=1e-6), options)
    for asked in ("käse", job.id):
        found = service.wait_for(asked, (S.RUNNING,), 20)
        assert (found.id, found.options, found.source, found.config) == (job.id, options, job.source, job.config)
    assert (job.source.entry, job.source.args, job.config.partitions) == ("jobs:main", ("a", "", "b c"), 3)


def test_an_option_that_is_none_leaves_what_the_code_says(pair):
    service, _ = pair
    assert service.submit(request(options={"partitions": None})).options == {}


def test_a_name_is_taken_until_its_job_has_ended(pair):
    service, state = pair
    first = running(state, "x")
    with pytest.raises(ConflictError, match=rf"^Another active job with equal name \(x\) exists: {first}$"):
        service.submit(request("x"))
    service.cancel("x")
    assert service.submit(request("x")).id != first


def test_ended_jobs_are_listed_only_when_asked_for(pair):
    service, state = pair
    first, second = running(state, "a"), running(state, "b")
    service.cancel(first)
    assert [job.id for job in service.jobs()] == [second]
    assert {job.id for job in service.jobs(include_ended=True)} == {first, second}


def test_what_a_run_says_of_itself_comes_through_whole(pair):
    service, state = pair
    job = running(state)
    progress = Progress(7, 1_700_000_000_123, 10**12, 12.5, 250, 3, {"speed": {"rows_in": 1, "offset": '{"a":1}'}})
    state.advance(job, progress)
    assert service.job(job).progress == progress


def test_a_job_is_suspended_resumed_restarted_and_cancelled(pair):
    service, state = pair
    job = running(state)
    service.suspend(job)
    found = service.job(job)
    assert (found.status, found.suspension_cause) == (S.SUSPENDED, "Requested by user")
    service.resume(job)
    assert service.wait_for(job, (S.RUNNING,), 5).token == 2
    service.restart(job)
    assert service.wait_for(job, (S.RUNNING,), 5).token == 3
    service.cancel(job)
    found = service.job(job)
    assert (found.status, found.user_cancelled, found.completion_time) == (S.FAILED, True, pytest.approx(MOMENT, abs=1e-6))


@pytest.mark.parametrize(
    ("reached", "call", "sentence"),
    [
        (S.SUSPENDED, "suspend", "Cannot SUSPEND, job status is SUSPENDED, should be RUNNING"),
        (S.STARTING, "restart", "Cannot RESTART, job status is STARTING, should be RUNNING"),
        (S.SUSPENDED_EXPORTING_SNAPSHOT, "cancel", "Cannot cancel when job status is SUSPENDED_EXPORTING_SNAPSHOT"),
        (S.COMPLETED, "resume", "Job already completed"),
        (S.COMPLETED, "suspend", "Cannot SUSPEND job 0401-9f77-b9c0-0001 because it already has a result: COMPLETED"),
    ],
)
def test_what_a_state_forbids_is_refused_with_its_sentence(pair, reached, call, sentence):
    service, state = pair
    job = brought_to(state, reached)
    with pytest.raises(ConflictError) as refused:
        getattr(service, call)(job)
    assert refused.value.message == sentence
    assert service.job(job).status is reached


def test_resume_of_what_runs_and_cancel_of_what_has_ended_change_nothing(pair):
    service, state = pair
    job = running(state)
    service.resume(job)
    assert service.job(job).status is S.RUNNING
    ended = brought_to(state, S.COMPLETED, "ended")
    service.cancel(ended)
    assert service.job(ended).status is S.COMPLETED


def test_a_wait_ends_with_the_state_or_with_a_sentence(pair):
    service, state = pair
    job = brought_to(state, S.STARTING, "slow")
    with pytest.raises(WaitTimeoutError, match=r"^Job 'slow' is STARTING, not RUNNING or FAILED, after 0 seconds\.$"):
        service.wait_for("slow", (S.RUNNING, S.FAILED), 0.05)
    service.cancel(job)
    assert service.wait_for(job, (S.RUNNING, S.FAILED), 5).status is S.FAILED


def told(page):
    return [change.text for change in page.changes]


def test_the_history_of_a_job_tells_each_change_in_order_with_its_reason(pair):
    service, state = pair
    job = running(state)
    for verb in (service.suspend, service.resume, service.restart):
        verb(job)
        service.wait_for(job, (S.RUNNING, S.SUSPENDED), 20)
    service.wait_for(job, (S.RUNNING,), 20)
    service.cancel("hello-world")
    page = service.history("hello-world")
    up = ["Pitstop: NOT_RUNNING -> STARTING (A run is started)", "Pitstop: STARTING -> RUNNING (The run is up)"]
    assert told(page) == [
        *up,
        "User: RUNNING -> SUSPENDED (Suspend)",
        "User: SUSPENDED -> NOT_RUNNING (Resume)",
        *up,
        "User: RUNNING -> NOT_RUNNING (Restart)",
        *up,
        "User: RUNNING -> FAILED (Cancel)",
    ]
    assert [change.sequence for change in page.changes] == list(range(1, 11))
    assert [change.at for change in page.changes] == [pytest.approx(MOMENT, abs=1e-6)] * 10
    assert (page.next, page.lost, page.ended) == (10, 0, True)
    middle = service.history(job, after=2, limit=2)
    assert (middle.changes, middle.next, middle.ended) == (page.changes[2:4], 4, False)


def test_the_history_tells_why_a_run_ended_by_itself(pair):
    service, state = pair
    state.submit(request("a", "# fails: No such column: vin"))
    state.wait_for("a", (S.FAILED,), 20)
    assert told(service.history("a"))[-1] == "Pitstop: STARTING -> FAILED (No such column: vin)"
    state.submit(request("b", "# fails: No such column: vin", options={"suspend_on_failure": True}))
    state.wait_for("b", (S.SUSPENDED,), 20)
    assert told(service.history("b"))[-1] == "Pitstop: STARTING -> SUSPENDED (No such column: vin)"


def test_who_waits_for_the_next_change_has_it_at_once_and_nothing_if_none_comes(pair):
    service, state = pair
    job = running(state)
    newest = service.history(job).next
    assert service.history(job, newest, wait_seconds=0.05) == JobHistory([], newest, 0, False)
    later = threading.Timer(0.1, lambda: state.suspend(job))
    later.start()
    began = time.monotonic()
    assert told(service.history(job, newest, wait_seconds=60)) == ["User: RUNNING -> SUSPENDED (Suspend)"]
    assert time.monotonic() - began < 30
    later.join()


def test_nobody_waits_for_changes_of_a_job_that_has_ended_and_one_that_is_brought_back_has_more(pair):
    service, state = pair
    job = brought_to(state, S.FAILED)
    newest = service.history(job).next
    assert service.history(job, newest, wait_seconds=600) == JobHistory([], newest, 0, True)
    state.resume(job)
    assert told(service.history(job, newest, limit=1)) == ["User: FAILED -> NOT_RUNNING (Resume)"]
    assert not service.history(job, newest).ended


def test_changes_that_are_kept_no_more_are_counted(pair):
    service, state = pair
    job = running(state)
    with state.registry.transaction():
        for _ in range(KEEP_CHANGES + 3):
            state.registry.add_change(job, StateChange(MOMENT, S.RUNNING, S.NOT_RUNNING, "again", False))
    page = service.history(job, after=2, limit=1)
    assert (page.lost, page.changes[0].sequence) == (3, 6)
    assert service.history(job, after=5, limit=1).lost == 0


def test_there_is_no_history_of_a_job_that_nobody_knows(pair):
    service, _ = pair
    with pytest.raises(NotFoundError, match=r"^No job with name or id 'x' was found$"):
        service.history("x")


def test_snapshots_are_exported_listed_read_and_deleted(pair):
    service, state = pair
    job = running(state, "hello-world")
    state.advance(job, Progress(epoch=41))
    record = service.export_snapshot(job, "snapshot-v1")
    assert (record.name, record.job_name, record.bytes, record.epoch) == ("snapshot-v1", "hello-world", 1196, 41)
    assert record.created == pytest.approx(MOMENT, abs=1e-6)
    assert service.snapshots() == [record]
    assert service.snapshot("snapshot-v1") == state.snapshot("snapshot-v1")
    assert service.job(job).status is S.RUNNING
    service.delete_snapshot("snapshot-v1")
    assert service.snapshots() == []


def test_state_is_queried_taken_out_and_put_back(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.export_snapshot(job, "s")
    content = "Köln\nBonn\n".encode()
    made = service.import_state("s", "speed", content, "edited")
    assert (made.name, [record.name for record in service.snapshots()]) == ("edited", ["edited", "s"])
    assert service.export_state("edited", "speed") == content
    found = service.query_state("edited", "speed", "SELECT * FROM state", 1)
    assert found == StateRows([("line", "string")], [["Köln"]], True)
    with pytest.raises(UsageError, match="The query on stage 'speed' failed"):
        service.query_state("edited", "speed", "SELECT x", 1)
    for stage in ("sped", "a/b", ".."):
        with pytest.raises(NotFoundError, match=f"Snapshot 's' has no stage '{re.escape(stage)}' with state"):
            service.export_state("s", stage)
    with pytest.raises(NotFoundError, match="Didn't find a snapshot named 'x'"):
        service.import_state("x", "speed", b"")


def test_an_export_that_cancels_ends_the_job(pair):
    service, state = pair
    job = running(state)
    service.export_snapshot(job, "s", cancel=True)
    found = service.job(job)
    assert (found.status, found.user_cancelled) == (S.FAILED, True)
    sentence = f"Cannot EXPORT job {job} because it already has a result: Cancelled by user; its state was removed"
    with pytest.raises(ConflictError, match=f"^{sentence}$"):
        service.export_snapshot(job, "s")
    assert not found.has_state
    assert service.kept_states() == []


def test_a_cancelled_job_keeps_its_state_for_a_day_and_is_brought_back(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.cancel(job)
    cancelled = service.job(job)
    assert (cancelled.status, cancelled.has_state, cancelled.state_kept_until) == (S.FAILED, True, MOMENT + 86_400)
    kept = service.kept_states()
    assert [(each.id, each.name, each.user_cancelled, each.until) for each in kept] == [
        (job, "hello-world", True, MOMENT + 86_400)
    ]
    assert kept[0].bytes > 0
    assert service.export_snapshot(job, "of the ended").job_id == job
    assert service.job(job) == cancelled, "it stays as it was"
    service.resume(job)
    back = service.wait_for(job, (S.RUNNING,), 20)
    assert (back.failure, back.completion_time, back.user_cancelled) == (None, None, False)
    assert back.lineage == cancelled.lineage


def test_a_failed_job_keeps_its_state_as_long_as_its_result_and_is_updated_like_a_suspended_one(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    state.put(job, state=S.FAILED, failure="no column 'x'", completion_time=MOMENT)
    assert service.job(job).state_kept_until == MOMENT + 604_800
    assert service.update(job, request(text="# stage: speed bigint")).gap_seconds is None
    updated = service.job(job)
    assert (updated.status, updated.suspension_cause) == (S.SUSPENDED, "Execution failure:\nno column 'x'")
    service.resume(job)
    assert service.wait_for(job, (S.RUNNING,), 20).version == 2


def test_a_job_is_not_brought_back_while_another_one_has_its_name(pair):
    service, state = pair
    first = running(state)
    service.cancel(first)
    second = running(state)
    with pytest.raises(ConflictError, match=re.escape(f"Another active job with equal name (hello-world) exists: {second}")):
        service.resume(first)
    assert service.job(first).status is S.FAILED
    service.cancel(second)
    service.resume(first)
    service.wait_for(first, (S.RUNNING,), 20)


def test_what_an_ended_job_keeps_is_removed_on_request(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    with pytest.raises(ConflictError, match=r"^Cannot DISCARD, job status is RUNNING: cancel the job first$"):
        service.discard(job)
    service.cancel(job)
    service.discard(job)
    found = service.job(job)
    assert (found.has_state, found.state_kept_until, service.kept_states()) == (False, None, [])
    until(lambda: not list(state._data.job(job).root.glob("checkpoint*")), "its files are gone as well")
    with pytest.raises(ConflictError, match=r"its state was removed$"):
        service.resume(job)


def test_options_of_a_suspended_job_change_and_its_next_run_has_them(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(ConflictError, match=r"^Cannot CONFIGURE, job status is RUNNING, should be SUSPENDED$"):
        service.configure(job, {"snapshot_interval": "1 second"})
    service.suspend(job)
    service.configure(job, {"snapshot_interval": "1 second", "suspend_on_failure": "true"})
    config = service.job(job).config
    assert (config.snapshot_interval_ms, config.suspend_on_failure, service.job(job).version) == (1000, True, 1)
    service.resume(job)
    assert service.wait_for(job, (S.RUNNING,), 20).config == config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitions": 4}, "partitions is not supported for configure: saved state depends on it: update the job"),
        ({"processing_guarantee": "none"}, "processing_guarantee is not supported for configure: its checkpoint and its sinks"),
        ({"initial_snapshot": "s"}, "initial_snapshot is not supported for configure: a job starts from a snapshot once"),
        ({"snapshot_interval": "soon"}, "'soon' is no snapshot_interval"),
        ({"snapshots": 1}, "Unknown job option: snapshots. There are: "),
        ({}, "Name the options that are to change"),
    ],
)
def test_what_a_suspended_job_cannot_be_configured_with_is_told(pair, options, message):
    service, state = pair
    job = running(state)
    service.suspend(job)
    before = service.job(job).config
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        service.configure(job, options)
    assert service.job(job).config == before


@pytest.mark.parametrize("name", ["nosuch", "", ".", "..", "a/b", "a b?c#d%2F", "jobs/../x"])
def test_what_there_is_not_is_told_by_its_name_whatever_the_name(pair, name):
    service, _ = pair
    with pytest.raises(NotFoundError) as missing:
        service.job(name)
    assert missing.value.message == f"No job with name or id '{name}' was found"
    for call in (service.snapshot, service.delete_snapshot):
        with pytest.raises(NotFoundError) as missing:
            call(name)
        assert missing.value.message == f"Didn't find a snapshot named '{name}'"


def test_a_new_version_is_compared_with_a_job_or_a_snapshot(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.export_snapshot(job, "s")
    fits = service.check(request(text="# stage: speed bigint\n# stage: more double"), job=job)
    assert [(line.stage, line.verdict) for line in fits.report.lines] == [
        ("source", "restored"),
        ("speed", "restored"),
        ("more", "new"),
    ]
    refused = service.check(request(text="# stage: speed double"), snapshot="s")
    assert refused.report.refused is True
    assert refused.text == refused.report.text()
    assert service.check(request()).report is None


def test_a_check_knows_the_stages_that_are_renamed(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    renamed = request(text="# stage: pace bigint", options={"renamed": {"pace": "speed"}})
    assert service.check(renamed, job=job).report.of(Verdict.RESTORED) == ("source", "pace")


def test_a_suspended_job_is_updated_and_stays_suspended(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.suspend(job)
    done = service.update(job, request(text="# stage: speed bigint\n# stage: more double"))
    assert (done.version, done.snapshot, done.gap_seconds) == (2, "hello-world-before-2", None)
    assert (service.job(job).status, service.job(job).version) == (S.SUSPENDED, 2)
    with pytest.raises(IncompatibleError, match="which stays as it is: stage 'speed'"):
        service.update(job, request(text="# stage: speed double"))
    assert service.job(job).updating
    service.resume(job)
    found = service.wait_for(job, (S.RUNNING,), 20)
    assert (found.version, found.updating) == (2, False)


def test_a_running_job_is_updated_and_goes_on_with_the_new_version(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    done = service.update(job, request(text="# stage: speed bigint\n# stage: more double", initial_snapshot="before"))
    assert (done.version, done.snapshot, done.report.of(Verdict.NEW)) == (2, "before", ("more",))
    assert done.gap_seconds >= 0
    found = service.job(job)
    assert (found.status, found.version, found.updating, found.token) == (S.RUNNING, 2, False, 2)
    assert service.snapshot("before").job_id == job


def test_the_old_version_goes_on_if_the_new_one_does_not_come_up(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(EngineError, match=r"Version 2 of job 'hello-world' failed, so version 1 goes on .*: No such table"):
        service.update(job, request(text="# fails: No such table"))
    found = service.wait_for(job, (S.RUNNING,), 20)
    assert (found.version, "No such table" in found.update_failure) == (1, True)


def test_two_snapshots_are_compared(pair):
    service, state = pair
    service.export_snapshot(running(state, "one", "# stage: speed bigint"), "a")
    service.export_snapshot(running(state, "two", "# stage: trend bigint"), "b")
    found = service.snapshot_diff("a", "b")
    assert Difference("stage trend: kind", None, "window") in found.differences
    assert [line.stage for line in found.report.refusals] == ["speed"]
    assert service.snapshot_diff("a", "a").differences == []
    with pytest.raises(NotFoundError, match="Didn't find a snapshot named 'c'"):
        service.snapshot_diff("a", "c")


def test_a_job_that_is_not_there_yet_is_not_updated(pair):
    service, state = pair
    job = brought_to(state, S.STARTING)
    with pytest.raises(ConflictError, match=r"^Cannot UPDATE, job status is STARTING, should be RUNNING or SUSPENDED$"):
        service.update(job, request())


def test_a_log_is_read_on_from_where_it_was_left(pair):
    service, state = pair
    job = running(state)
    state.write_log(job, "ä\nb\n\nhalf")
    first = service.logs(job, 0, 2)
    assert first.lines == ["ä", "b"]
    second = service.logs(job, first.next)
    assert second.lines == [""]
    assert service.logs(job, second.next) == LogPage([], second.next)
    state.write_log(job, " whole\n")
    assert service.logs(job, second.next).lines == ["half whole"]


def test_a_log_is_read_on_through_its_parts_and_what_is_no_longer_kept_is_told(pair):
    service, state = pair
    job = running(state)
    writer = RotatingLog(state.log_of(job), Rotation(100, 2))
    written = [f"{i:09}" for i in range(60)]
    seen, after = [], 0
    for line in written[:20]:
        writer.write(f"{line}\n".encode())
        page = service.logs(job, after)
        assert (page.lines, page.lost) == ([line], 0)
        after = page.next
    for line in written[20:]:
        writer.write(f"{line}\n".encode())
    page = service.logs(job, after)
    assert page.lost == 100
    assert page.lines == written[30:40]
    while page.lines:
        seen += page.lines
        page = service.logs(job, page.next)
        assert page.lost == 0
    assert seen == written[30:]
    assert service.logs(job).lost == 0, "who has read nothing has lost nothing"


def test_what_needs_packages_is_refused_by_a_server_that_installs_none_before_anything_is_recorded(pair):
    service, state = pair
    needy = '# /// script\n# dependencies = ["six"]\n# ///\n'
    refused = (
        r"^What job\.py needs could not be installed: This server installs none, and six is asked for: put what the job needs"
    )
    with pytest.raises(ArtifactError, match=refused):
        service.submit(request(text=needy))
    with pytest.raises(ArtifactError, match=refused):
        service.check(request(options={"requirements": ["six"]}))
    with pytest.raises(ArtifactError, match=r"^'git\+https://x' in the option requirements is no requirement"):
        service.submit(request(options={"requirements": ["git+https://x"]}))
    assert service.jobs(include_ended=True) == []
    job = running(state)
    with pytest.raises(ArtifactError, match=refused):
        service.update(job, request(text=needy))
    assert service.job(job).status is S.RUNNING
    assert service.submit(request("other")).source.dependencies is None


def test_levels_of_loggers_are_set_for_all_and_for_one_job_and_taken_back(pair):
    service, state = pair
    job = running(state, "x")
    usual = [LoggerLevel("pitstop", LogLevel.INFO, LoggerScope.USUAL), LoggerLevel("root", LogLevel.WARN, LoggerScope.USUAL)]
    assert service.log_levels() == service.log_levels("x") == usual
    of_all = LoggerLevel("pitstop.source", LogLevel.DEBUG, LoggerScope.ALL)
    assert service.set_log_level("pitstop.source", "debug") == [usual[0], of_all, usual[1]]
    of_job = LoggerLevel("root", LogLevel.OFF, LoggerScope.JOB)
    assert service.set_log_level("root", "OFF", "x") == [usual[0], of_all, of_job]
    assert service.log_levels() == [usual[0], of_all, usual[1]]
    assert service.log_levels(job) == [usual[0], of_all, of_job]
    assert service.set_log_level("root", None, job) == [usual[0], of_all, usual[1]]
    assert service.set_log_level("pitstop.source", None) == usual
    assert service.set_log_level("never.set", None) == usual


def test_what_is_no_level_no_logger_or_no_job_is_refused(pair):
    service, _ = pair
    with pytest.raises(UsageError, match=r"^There is no log level 'loud'; there are: TRACE, DEBUG, INFO, WARN, ERROR, OFF\.$"):
        service.set_log_level("a", "loud")
    with pytest.raises(UsageError, match=r"^'a b' names no logger: "):
        service.set_log_level("a b", "INFO")
    for act in (lambda: service.log_levels("nosuch"), lambda: service.set_log_level("a", "INFO", "nosuch")):
        with pytest.raises(NotFoundError, match="'nosuch'"):
            act()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.text() | st.sampled_from(["", ".", "..", "a/../b", "a//b", "%2F", "?x=1#y", "+ "]), value=VALUES)
def test_any_text_is_a_key_and_any_json_a_value(pair, key, value):
    service, _ = pair
    service.map_put("m", {key: json.dumps(value)})
    assert json.loads(service.map_get("m", key)) == value
    found = service.map_entries("m", prefix=key, limit=1)[0]
    assert (found.key, json.loads(found.value)) == (key, value)
    assert service.map_delete("m", key) is True
    assert service.map_delete("m", key) is False
    assert service.map_get("m", key) is None


def test_entries_come_in_pages_by_key(pair):
    service, _ = pair
    service.map_put("m", {f"k{i:02}": str(i) for i in range(7)} | {"other": "1"})
    first = service.map_entries("m", "k", None, 4)
    second = service.map_entries("m", "k", first[-1].key, 4)
    assert [entry.key for entry in first + second] == [f"k{i:02}" for i in range(7)]
    assert first[0].created == pytest.approx(MOMENT, abs=1e-6)
    assert (service.map_size("m"), service.map_size("nosuch"), service.map_entries("nosuch")) == (8, 0, [])


def test_a_journal_tells_what_happened_and_what_it_has_lost(pair):
    service, _ = pair
    service.map_configure("m", journal_capacity=3)
    service.map_put("m", {"a": "1"})
    service.map_put("m", {"a": "null"})
    service.map_put("m", {"b": '"x"'})
    service.map_delete("m", "a")
    found = service.map_journal("m", after=0)
    facts = [(e.sequence, e.kind, e.key, e.old_value, e.new_value) for e in found.events]
    assert facts == [
        (2, "UPDATED", "a", "1", "null"),
        (3, "ADDED", "b", None, '"x"'),
        (4, "REMOVED", "a", "null", None),
    ]
    assert (found.lost, found.oldest, found.newest) == (1, 2, 4)
    assert service.map_journal("m").lost == 0
    assert service.map_journal("m", after=3, limit=1).events[0].sequence == 4
    assert service.maps() == [MapFacts("m", size=1, journal_capacity=3, ttl_seconds=None, oldest=2, newest=4)]


@pytest.mark.parametrize("name", ["", "a/b", "../x"])
def test_a_map_has_a_proper_name(pair, name):
    with pytest.raises(UsageError, match="cannot name a map"):
        pair[0].map_put(name, {"k": "1"})


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
