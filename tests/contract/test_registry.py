"""What every registry promises to the control plane."""

import dataclasses
import re
import subprocess
import sys

import pytest
from sqlalchemy.event import listen

from pitstop.errors import ConflictError, Problem
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, KeptVersion, Progress, Version
from pitstop.model.job_event import StateChange
from pitstop.model.operation import Cancel, Export, OperationState, Resume, Submit, Suspend
from pitstop.model.retention import USUAL, Retention
from pitstop.model.run import EpochCommitted, Observation, Running, StopRun
from pitstop.model.snapshot import SnapshotRecord
from pitstop.store.database import open_database
from pitstop.store.registry import SqlRegistry
from tests.contract.stores import DATABASES


def job(job_id="id-1", name="ingest", state=JobState.RUNNING, submitted=5.0, plan=None, **more):
    options = {"processing_guarantee": "exactly_once"}
    source = JobSource("a.py", "m:f", ("x",))
    version = Version(1, source, options, JobConfig.from_options(options), plan)
    return Job(job_id, name, submitted, version, state, **more)


@pytest.fixture
def registry(store):
    return store.registry


class Boom(BaseException):
    """What ends a transaction: not even an Exception."""


def everything(registry):
    """All that can be read of a registry with one job."""
    return (
        registry.jobs(),
        registry.progress("id-1"),
        registry.pending_operations(),
        registry.open_operations("id-1"),
        registry.take_observations(),
        registry.snapshots(),
        registry.handle_of("id-1", 2),
    )


def fail_after(registry, write):
    def attempt():
        with registry.transaction():
            write()
            raise Boom

    with pytest.raises(Boom):
        attempt()


def test_a_job_reads_back_as_it_was_written(registry):
    registry.add_job(job(token=4, plan={"stages": []}))
    assert registry.get_job("id-1") == job(token=4, plan={"stages": []})
    assert registry.get_job("id-2") is None


def test_an_id_belongs_to_one_job_also_when_that_has_ended(registry):
    registry.add_job(job(state=JobState.FAILED))
    with pytest.raises(ConflictError, match=r"^There is a job with the id id-1\.$"), registry.transaction():
        registry.add_job(job(name="other"))
    assert registry.get_job("id-1") == job(state=JobState.FAILED)


def test_only_one_active_job_has_a_name_and_an_ended_one_frees_it(registry):
    registry.add_job(job())
    with pytest.raises(ConflictError, match=r"Another active job with equal name \(ingest\) exists: id-1"):
        registry.add_job(job("id-2"))
    registry.save_job(job(state=JobState.FAILED))
    registry.add_job(job("id-2"))
    assert [found.id for found in registry.find_jobs("ingest")] == ["id-2", "id-1"]


def test_jobs_without_a_name_do_not_stand_in_one_anothers_way(registry):
    registry.add_job(job("id-1", None))
    registry.add_job(job("id-2", None))
    assert len(registry.jobs()) == 2


def test_jobs_are_listed_with_the_newest_first_and_found_by_name_or_id_active_first(registry):
    registry.add_job(job("old", "a", submitted=1.0))
    registry.add_job(job("new", "a", JobState.FAILED, submitted=3.0))
    registry.add_job(job("other", "b", JobState.COMPLETED, submitted=2.0))
    assert [found.id for found in registry.jobs()] == ["new", "other", "old"]
    assert [found.id for found in registry.jobs(include_ended=False)] == ["old"]
    assert [found.id for found in registry.find_jobs("a")] == ["old", "new"]
    assert [found.id for found in registry.find_jobs("other")] == ["other"]
    assert registry.find_jobs("nobody") == []


def test_an_ended_job_gets_its_name_back_only_while_no_other_one_has_it(registry):
    ended = job("old", state=JobState.FAILED, completion_time=6.0, failure="boom")
    registry.add_job(ended)
    registry.add_job(job("new"))
    back = dataclasses.replace(ended, state=JobState.NOT_RUNNING, completion_time=None, failure=None)
    with pytest.raises(ConflictError, match=r"^Another active job with equal name \(ingest\) exists: new$"):
        registry.save_job(back)
    assert registry.get_job("old") == ended
    registry.save_job(job("new", state=JobState.COMPLETED, completion_time=7.0))
    registry.save_job(back)
    assert registry.get_job("old") == back


def test_saving_a_job_that_was_forgotten_does_not_bring_it_back(registry):
    registry.save_job(job())
    assert registry.jobs() == []


def test_ended_jobs_beyond_a_number_or_an_age_are_forgotten_with_all_that_belongs_to_them(store):
    registry = store.registry
    for number in range(4):
        done = job(f"id-{number}", f"n{number}", JobState.RUNNING, float(number), token=1)
        registry.add_job(done)
        link = store.link()
        link.claim(done.id, 1, f"handle-{number}", 10)
        link.report(Progress(epoch=number))
        registry.add_operation(done.id, Submit())
        if number:
            registry.save_job(
                job(done.id, done.name, JobState.FAILED, done.submission_time, token=1, completion_time=50.0 + number)
            )
    assert sorted(registry.delete_ended(keep=2, older_than=0.0)) == ["id-1"]
    assert sorted(registry.delete_ended(keep=10, older_than=53.0)) == ["id-2"]
    assert [found.id for found in registry.jobs()] == ["id-3", "id-0"]
    assert (registry.progress("id-1"), registry.handle_of("id-1", 1), registry.open_operations("id-1")) == (Progress(), None, [])
    assert (registry.progress("id-3").epoch, registry.handle_of("id-3", 1)) == (3, "handle-3")
    assert len(registry.open_operations("id-0")) == 1


def test_the_results_that_are_kept_are_those_of_the_jobs_that_ended_last(registry):
    for number in range(4):
        registry.add_job(
            job(f"id-{number}", f"n{number}", JobState.FAILED, submitted=float(number), completion_time=90.0 - number)
        )
    assert sorted(registry.delete_ended(keep=2, older_than=0.0)) == ["id-2", "id-3"]


def test_a_job_that_goes_on_for_long_does_not_gather_answers_commands_and_leases(store):
    registry = store.registry
    for token in range(1, 5):
        now = job(token=token)
        if token == 1:
            registry.add_job(now)
        registry.save_job(now)
        store.link().claim("id-1", token, f"handle-{token}", 10)
        registry.add_command("id-1", token, StopRun())
    answered, late, open_one = (registry.add_operation("id-1", Suspend()) for _ in range(3))
    registry.finish_operation(answered.id)
    store.clock.advance(100)
    registry.finish_operation(late.id)
    registry.prune(store.clock.now() - 50)
    assert [registry.handle_of("id-1", token) for token in range(1, 5)] == [None, None, "handle-3", "handle-4"]
    assert registry.get_operation(answered.id) is None
    assert registry.get_operation(late.id).state is OperationState.DONE
    assert [operation.id for operation in registry.open_operations("id-1")] == [open_one.id]
    link = store.link()
    link.claim("id-1", 4, "handle-4", 10)
    assert len(link.commands(0)) == 1


def test_what_a_failed_transaction_wrote_is_undone_as_a_whole(store):
    registry = store.registry
    registry.add_job(job(token=2))
    link = store.link()
    link.claim("id-1", 2, "handle", 10)
    link.observe(Observation("id-1", 2, Running(1)))
    link.observe(Observation("id-1", 2, EpochCommitted(1)))
    first = registry.take_observations()[0]
    operation = registry.add_operation("id-1", Suspend())
    registry.add_snapshot(SnapshotRecord("s", "id-1", "ingest", 1.0, 10, "/x", 3))
    before = everything(registry)

    def change_everything():
        registry.save_job(job(token=3, state=JobState.FAILED))
        registry.add_job(job("id-2"))
        registry.consume(first.id)
        registry.start_operation(operation.id)
        registry.finish_operation(operation.id)
        registry.add_operation("id-1", Cancel())
        registry.add_snapshot(SnapshotRecord("s", "id-1", "ingest", 1.0, 20, "/x", 3))
        registry.add_command("id-1", 2, StopRun())
        registry.delete_snapshot("s")
        registry.delete_ended(0, 1e12)

    fail_after(registry, change_everything)
    assert everything(registry) == before
    assert link.commands(0) == []


def test_of_a_failed_part_of_a_transaction_only_that_part_is_undone(registry):
    with registry.transaction():
        registry.add_job(job())
        with pytest.raises(ConflictError):
            registry.add_job(job("id-2"))
        fail_after(registry, lambda: registry.save_job(job(token=9)))
        registry.add_operation("id-1", Submit())
    assert registry.jobs() == [job()]
    assert len(registry.pending_operations()) == 1


def test_within_a_transaction_its_own_writes_are_seen(registry):
    with registry.transaction():
        registry.add_job(job())
        assert registry.get_job("id-1") == job()
        assert registry.find_jobs("ingest") == [job()]


def test_an_operation_is_pending_then_running_then_answered_once(store):
    registry = store.registry
    registry.add_job(job())
    operation = registry.add_operation("id-1", Export("s"))
    assert operation.created == store.clock.now()
    assert registry.pending_operations() == [operation]
    registry.start_operation(operation.id)
    assert registry.pending_operations() == []
    assert [found.id for found in registry.open_operations("id-1")] == [operation.id]
    store.clock.advance(5)
    record = SnapshotRecord("s", "id-1", "ingest", 1.0, 10, "/x", 3)
    registry.finish_operation(operation.id, result=record)
    registry.finish_operation(operation.id, Problem("TIMEOUT", "too late"))
    registry.start_operation(operation.id)
    done = registry.get_operation(operation.id)
    assert (done.request, done.state, done.result, done.error) == (Export("s"), OperationState.DONE, record, None)
    assert done.finished == done.created + 5
    assert registry.open_operations("id-1") == []
    assert registry.get_operation(operation.id + 1) is None


def test_operations_come_in_the_order_in_which_they_were_asked_for(registry):
    registry.add_job(job())
    asked = [registry.add_operation("id-1", request).id for request in (Suspend(), Resume(), Cancel())]
    assert [operation.id for operation in registry.pending_operations()] == asked == sorted(asked)


def test_a_snapshot_of_a_name_replaces_the_one_before(registry):
    for name, size in (("t", 5), ("s", 10), ("s", 20)):
        registry.add_snapshot(SnapshotRecord(name, "id-1", "ingest", 1.0, size, "/x", 3))
    assert [(record.name, record.bytes) for record in registry.snapshots()] == [("s", 20), ("t", 5)]
    assert registry.get_snapshot("s").bytes == 20
    assert registry.delete_snapshot("s")
    assert not registry.delete_snapshot("s")
    assert registry.get_snapshot("s") is None


ADD = """
import sys
sys.path.insert(0, "")
from tests.contract.test_registry import job
from pitstop.errors import ConflictError, Problem
from pitstop.store.database import open_database
from pitstop.store.registry import SqlRegistry
registry = SqlRegistry(open_database(sys.argv[1]))
sys.stdin.readline()
try:
    registry.add_job(job(sys.argv[2]))
    print("won")
except ConflictError:
    print("lost")
"""


@pytest.mark.parametrize("kind", DATABASES)
def test_of_several_processes_that_submit_one_name_at_once_one_wins(tmp_path, kind):
    database = open_database(DATABASES[kind](tmp_path))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADD, database.url, f"id-{n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0].strip() for process in processes) == ["lost", "lost", "lost", "won"]


def test_a_job_that_has_the_id_of_another_one_as_its_name_does_not_stand_before_it(registry):
    registry.add_job(job("0401-9f77-b9c0-0001", name="victim", submitted=1.0, state=JobState.FAILED))
    registry.add_job(job("id-2", name="0401-9f77-b9c0-0001", submitted=2.0))
    assert [found.id for found in registry.find_jobs("0401-9f77-b9c0-0001")] == ["0401-9f77-b9c0-0001", "id-2"]
    assert [found.id for found, _ in registry.overview(named="0401-9f77-b9c0-0001")] == ["0401-9f77-b9c0-0001", "id-2"]
    found, _ = registry.overview_of(["0401-9f77-b9c0-0001"])["0401-9f77-b9c0-0001"]
    assert found.id == "0401-9f77-b9c0-0001"


def test_an_overview_shows_jobs_with_their_progress_as_they_are_now(store):
    registry = store.registry
    for number, state in enumerate((JobState.RUNNING, JobState.FAILED, JobState.RUNNING)):
        registry.add_job(job(f"id-{number}", f"job-{number}", state, submitted=float(number), token=number))
    assert [found.id for found, _ in registry.overview()] == ["id-2", "id-1", "id-0"]
    assert [found.id for found, _ in registry.overview(include_ended=False)] == ["id-2", "id-0"]
    link = store.link()
    link.claim("id-2", 2, "a handle", 60)
    for epoch in (1, 2):
        link.report(Progress(epoch=epoch))
        assert registry.overview(named="job-2") == [(registry.get_job("id-2"), Progress(epoch=epoch))]
    registry.save_job(job("id-0", "job-0", JobState.SUSPENDED, submitted=0.0))
    assert [found.state for found, _ in registry.overview()] == [JobState.RUNNING, JobState.FAILED, JobState.SUSPENDED]
    assert registry.overview(named="nobody") == []
    some = registry.overview_of(["job-2", "id-0", "nobody"])
    assert some == {"job-2": registry.overview(named="job-2")[0], "id-0": registry.overview(named="id-0")[0]}


def changed(previous, new, reason="Suspend", by_user=True, sequence=0):
    return StateChange(12.5, JobState(previous), JobState(new), reason, by_user, sequence)


def test_changes_of_a_jobs_state_are_numbered_and_read_page_by_page(registry):
    registry.add_job(job())
    registry.add_job(job("id-2", "other"))
    for number in range(1, 6):
        registry.add_event("id-1", changed("RUNNING", "SUSPENDED", f"Grüße {number}", by_user=number % 2 == 0))
    registry.add_event("id-2", changed("STARTING", "RUNNING"))
    told = [changed("RUNNING", "SUSPENDED", f"Grüße {n}", n % 2 == 0, n) for n in range(1, 6)]
    assert registry.events("id-1", 0, 1000) == told
    assert registry.events("id-1", 1, 2) == told[1:3]
    assert registry.events("id-1", 5, 10) == []
    assert registry.events("nobody", 0, 10) == []
    assert registry.events("id-2", 0, 10) == [changed("STARTING", "RUNNING", sequence=1)]


def test_a_reason_may_hold_anything_that_an_error_says(registry):
    registry.add_job(job())
    told = changed("RUNNING", "FAILED", "a\nb \x00 \x1b[2J \u202e 😀 '\"")
    registry.add_event("id-1", told)
    assert registry.events("id-1", 0, 1) == [dataclasses.replace(told, sequence=1)]


def test_of_a_jobs_changes_the_newest_are_kept_and_numbers_go_on(registry):
    registry.add_job(job())
    with registry.transaction():
        for number in range(USUAL.events + 5):
            registry.add_event("id-1", changed("RUNNING", "NOT_RUNNING", str(number)))
    kept = registry.events("id-1", 0, 10 * USUAL.events)
    assert [change.sequence for change in kept] == list(range(6, USUAL.events + 6))
    assert (kept[0].reason, kept[-1].reason) == ("5", str(USUAL.events + 4))
    assert registry.newest_events(["id-1"]) == {"id-1": USUAL.events + 5}


def test_a_change_is_there_only_with_the_transaction_that_made_it(registry):
    registry.add_job(job())
    registry.add_event("id-1", changed("STARTING", "RUNNING"))
    fail_after(registry, lambda: registry.add_event("id-1", changed("RUNNING", "FAILED")))
    assert registry.events("id-1", 0, 10) == [changed("STARTING", "RUNNING", sequence=1)]
    registry.add_event("id-1", changed("RUNNING", "SUSPENDED"))
    assert registry.newest_events(["id-1"]) == {"id-1": 2}


def test_the_events_of_a_job_go_with_it(registry):
    registry.add_job(job("id-1", "a", JobState.FAILED, completion_time=1.0))
    registry.add_job(job("id-2", "b", JobState.FAILED, completion_time=9.0))
    for job_id in ("id-1", "id-2"):
        registry.add_event(job_id, changed("RUNNING", "FAILED"))
    assert registry.delete_ended(keep=10, older_than=5.0) == ["id-1"]
    assert registry.events("id-1", 0, 10) == []
    assert len(registry.events("id-2", 0, 10)) == 1


def test_the_last_changes_of_many_jobs_are_read_at_once(registry):
    registry.add_job(job("id-1", "a"))
    registry.add_job(job("id-2", "b"))
    for _ in range(3):
        registry.add_event("id-1", changed("RUNNING", "NOT_RUNNING"))
    registry.add_event("forgotten", changed("RUNNING", "FAILED"))
    wanted = ["id-1", "id-2", "forgotten", *(f"none-{number}" for number in range(1200))]
    assert registry.newest_events(wanted) == {"id-1": 3, "id-2": 0}
    assert registry.newest_events([]) == {}


def test_states_of_many_jobs_are_read_at_once(registry):
    registry.add_job(job("id-1", "a", JobState.RUNNING))
    registry.add_job(job("id-2", "b", JobState.FAILED))
    wanted = ["id-1", "id-2", *(f"none-{number}" for number in range(1200))]
    assert registry.states(wanted) == {"id-1": JobState.RUNNING, "id-2": JobState.FAILED}
    assert registry.states([]) == {}


def test_operations_are_unanswered_until_they_are_finished(registry):
    registry.add_job(job())
    first, second, third = (registry.add_operation("id-1", request).id for request in (Suspend(), Resume(), Cancel()))
    registry.start_operation(first)
    registry.finish_operation(second)
    assert registry.unanswered([first, second, third, 4711]) == {first, third}
    assert registry.unanswered([]) == set()


def test_operations_are_recent_until_they_were_answered_so_long_ago(registry, store):
    for name in ("id-1", "id-2"):
        registry.add_job(job(name, name))
    first, second, third, fourth = (
        registry.add_operation(name, request).id
        for name, request in (("id-1", Export("s")), ("id-2", Resume()), ("id-1", Cancel()), ("id-2", Suspend()))
    )
    registry.start_operation(third)

    def recent(most=10):
        return [(operation.id, operation.state.value) for operation in registry.recent_operations(60.0, most)]

    assert recent() == [(first, "pending"), (second, "pending"), (third, "running"), (fourth, "pending")]
    registry.finish_operation(second, Problem("CONFLICT", "no", {"a": [1]}))
    store.clock.advance(30)
    registry.finish_operation(first, None, SnapshotRecord("s", "id-1", "ingest", 1.0, 10, "/x", 3))
    assert recent() == [(first, "done"), (second, "failed"), (third, "running"), (fourth, "pending")]
    assert recent(most=1) == [(first, "done"), (third, "running"), (fourth, "pending")], "the one that was answered last"
    found = registry.recent_operations(60.0, 10)
    assert found == [registry.get_operation(operation.id) for operation in found]
    store.clock.advance(31)
    assert recent() == [(first, "done"), (third, "running"), (fourth, "pending")]
    store.clock.advance(100 * 86_400)
    assert recent() == [(third, "running"), (fourth, "pending")]


@pytest.mark.parametrize("kind", DATABASES)
def test_recent_operations_are_found_by_indexes_among_any_number(tmp_path, kind):
    database, asked = open_database(DATABASES[kind](tmp_path)), []
    listen(database.engine, "before_cursor_execute", lambda *call: asked.append(call[2:4]))
    SqlRegistry(database).recent_operations(60.0, 10)
    statement, values = next(each for each in asked if "FROM operations" in each[0])
    with database.engine.connect() as connection:
        if kind == "postgres":
            connection.exec_driver_sql("SET enable_seqscan = off")  # a table that is empty is read whole
        explain = "EXPLAIN" if kind == "postgres" else "EXPLAIN QUERY PLAN"
        plan = str(connection.exec_driver_sql(f"{explain} {statement}", values).all())
    assert "ix_operations_state" in plan
    assert "ix_operations_finished" in plan
    assert not re.search("SCAN operations|Seq Scan", plan), plan
    database.close()


def set_clock(store, moment):
    store.clock.set_by(moment - store.clock.now())


def test_progress_leaves_a_sample_of_its_second_and_of_its_minute(registry, store):
    registry.add_job(job())
    link = store.link()
    link.claim("id-1", 0, "a handle", 10_000)
    start = store.clock.now() // 60 * 60
    for second, rows, took in ((0.0, 10, 50), (0.4, 20, 90), (1.0, 30, 10), (61.0, 40, 20)):
        set_clock(store, start + second)
        link.report(Progress(epoch=rows, input_rows=rows, epoch_ms=took))
    seconds, minutes = registry.samples("id-1", 1, 0), registry.samples("id-1", 60, 0)
    assert [(at.at - start, at.input_rows, at.epoch_ms) for at in seconds] == [
        (0, 20, 90),
        (1, 30, 10),
        (61, 40, 20),
    ]
    assert [(at.at - start, at.input_rows, at.epoch_ms) for at in minutes] == [(0, 30, 90), (60, 40, 20)]
    assert [sample.at - start for sample in registry.samples("id-1", 1, start)] == [1, 61]
    assert registry.samples("nobody", 1, 0) == []


def test_a_run_that_takes_over_goes_on_with_the_sample_of_the_minute(registry, store):
    registry.add_job(job())
    set_clock(store, store.clock.now() // 60 * 60)
    for token, took in ((0, 900), (1, 100)):
        registry.save_job(job(token=token))
        link = store.link()
        link.claim("id-1", token, f"handle-{token}", 10_000)
        link.report(Progress(epoch_ms=took))
    (minute,) = registry.samples("id-1", 60, 0)
    assert (minute.token, minute.epoch_ms) == (1, 900)


def test_samples_are_kept_for_a_quarter_of_an_hour_by_the_second_and_for_a_day_by_the_minute(registry, store):
    registry.add_job(job())
    link = store.link()
    link.claim("id-1", 0, "a handle", 1_000_000)
    start = store.clock.now() // 60 * 60
    for minute in (0, 10, 16, 24 * 60 + 5):
        set_clock(store, start + 60 * minute)
        link.report(Progress(epoch=minute))
        if minute == 16:
            assert [sample.epoch for sample in registry.samples("id-1", 1, 0)] == [10, 16]
    assert [sample.epoch for sample in registry.samples("id-1", 60, 0)] == [10, 16, 24 * 60 + 5]
    store.clock.advance(2 * 24 * 60 * 60)
    registry.prune(0.0)
    assert registry.samples("id-1", 60, 0) == registry.samples("id-1", 1, 0) == []


def test_samples_are_kept_as_the_settings_say_be_they_changed_while_the_run_goes_on(registry, store):
    registry.add_job(job())
    link = store.link()
    link.claim("id-1", 0, "a handle", 10_000_000)
    start = store.clock.now() // 60 * 60
    registry = store.keep(Retention(seconds_history=120, minutes_history=3 * 3600))
    for minute in (0, 1, 2, 3, 61, 179, 181):
        set_clock(store, start + 60 * minute)
        link.report(Progress(epoch=minute))
        if minute == 3:
            assert [sample.epoch for sample in registry.samples("id-1", 1, 0)] == [2, 3]
            assert [sample.epoch for sample in registry.samples("id-1", 60, 0)] == [0, 1, 2, 3]
    assert [sample.epoch for sample in registry.samples("id-1", 60, 0)] == [2, 3, 61, 179, 181]
    registry = store.keep(Retention(seconds_history=180, minutes_history=3600))
    set_clock(store, start + 60 * 182)
    link.report(Progress(epoch=182))
    assert [sample.epoch for sample in registry.samples("id-1", 60, 0)] == [179, 181, 182]
    assert [sample.epoch for sample in registry.samples("id-1", 1, 0)] == [181, 182]
    store.clock.advance(120)
    store.keep(Retention(seconds_history=60, minutes_history=3600)).prune(0.0)
    assert (len(registry.samples("id-1", 1, 0)), len(registry.samples("id-1", 60, 0))) == (0, 3), "of a job that has ended, too"


def test_as_many_events_and_versions_are_kept_as_the_settings_say(registry, store):
    registry.add_job(job())
    registry.add_job(job("id-2", name="other"))
    registry = store.keep(Retention(events=12, versions=3))
    for number in range(20):
        registry.add_event("id-1", StateChange(1.0, JobState.RUNNING, JobState.NOT_RUNNING, str(number), False))
        registry.put_version("id-1", dataclasses.replace(job().version, number=number + 1), 5.0)
    registry.add_event("id-2", StateChange(1.0, JobState.RUNNING, JobState.NOT_RUNNING, "x", False))
    registry.put_version("id-2", job().version, 5.0)

    def kept(job_id):
        events = [event.sequence for event in registry.events(job_id, 0, 1000)]
        return events, [found.version.number for found in registry.versions(job_id)]

    assert kept("id-1") == (list(range(9, 21)), [20, 19, 18])
    registry = store.keep(Retention(events=10, versions=1))
    registry.prune(0.0)
    assert kept("id-1") == (list(range(11, 21)), [20]), "although nothing has happened to it since"
    assert kept("id-2") == ([1], [1])


def test_any_number_of_results_is_forgotten_at_once(registry):
    with registry.transaction():
        for number in range(1201):
            registry.add_job(job(f"id-{number}", name=None, state=JobState.COMPLETED, completion_time=float(number)))
    assert len(registry.delete_ended(1, 0.0)) == 1200
    assert [left.id for left in registry.jobs()] == ["id-1200"]


def test_versions_of_a_job_are_kept_the_newest_first_and_go_with_it(registry):
    registry.add_job(job())
    first = job().version
    other = dataclasses.replace(first, number=2, source=JobSource("b.py"))
    registry.put_version("id-1", first, 5.0)
    registry.put_version("id-1", dataclasses.replace(first, plan={"stages": []}), 6.0)  # compiled: it is the same one
    registry.put_version("id-1", other, 7.0)
    found = registry.versions("id-1")
    assert [(kept.version.number, kept.since) for kept in found] == [(2, 7.0), (1, 5.0)]
    assert found[1].version.plan == {"stages": []}
    again = dataclasses.replace(other, source=JobSource("c.py"))  # version 2 was gone back from
    registry.put_version("id-1", again, 9.0)
    assert registry.versions("id-1")[0] == KeptVersion(again, 9.0)
    registry.put_version("id-1", dataclasses.replace(other, number=USUAL.versions + 1), 11.0)
    assert [kept.version.number for kept in registry.versions("id-1")] == [USUAL.versions + 1, 2]
    registry.save_job(job(state=JobState.FAILED, completion_time=1.0))
    registry.delete_ended(0, 100.0)
    assert registry.versions("id-1") == []


def test_the_artifacts_of_all_versions_are_read_at_once(registry):
    assert registry.version_artifacts() == []
    for name, number in (("id-2", 1), ("id-1", 1), ("id-1", 2), ("id-1", 10)):
        # A user's argument may hold anything.
        source = JobSource(f"/a/{name}/{number} \u00e4.py", "m:f", ("\x00", "'\"\\u0000"), "packages")
        registry.put_version(name, dataclasses.replace(job().version, number=number, source=source, plan={"stages": []}), 5.0)
    assert registry.version_artifacts() == [
        ("id-1", 10, "/a/id-1/10 \u00e4.py"),
        ("id-1", 2, "/a/id-1/2 \u00e4.py"),
        ("id-1", 1, "/a/id-1/1 \u00e4.py"),
        ("id-2", 1, "/a/id-2/1 \u00e4.py"),
    ]
