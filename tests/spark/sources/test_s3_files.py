"""Files in S3: each row once over versions and breaks, errors in words, and credentials for the job that has them alone."""

import json

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.machine import named_secrets
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.looking import findings
from pitstop.spark.lowering.lowering import Lowering
from tests.folders import everything_below
from tests.ports import free_port
from tests.spark.harness import Collected, Harness, check

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
SCHEMA = "n bigint, part string"


@pytest.fixture(scope="module")
def store(object_store):
    """A store with two users, each with a bucket; it asks everybody for keys."""
    for bucket in ("annas", "bobs", "shared"):
        object_store.make(bucket)
    object_store.users = {"ann": object_store.user("ann", "annas", "shared"), "bob": object_store.user("bob", "bobs")}
    root = object_store.user("root", "*")
    object_store.ask_for_keys(*root)
    return object_store


@pytest.fixture(autouse=True)
def secrets(request, monkeypatch):
    monkeypatch.setattr(named_secrets, "_values", {})
    for name, (key, secret) in request.getfixturevalue("store").users.items():
        monkeypatch.setenv(f"PITSTOP_SECRET_{name.upper()}_KEY", key)
        monkeypatch.setenv(f"PITSTOP_SECRET_{name.upper()}_SECRET", secret)


class FilesHarness(Harness):
    """Runs a version of a job until its sink has as many rows as are told."""

    def wait_for(self, running, until):
        assert wait_until(lambda: not running.active or until(), 300, step=0.02)
        check(running)


@pytest.fixture
def harness(spark, tmp_path):
    return FilesHarness(spark, tmp_path)


def by(store, user):
    return store.reached(f"{user.upper()}_KEY", f"{user.upper()}_SECRET")


def lines(numbers, part="a"):
    return "".join(json.dumps({"n": n, "part": part}) + "\n" for n in numbers)


def read(spark, source):
    p = ps.Pipeline()
    p.read_from(source, name="rows").write_to(ps.sinks.noop(), name="out")
    compile_pipeline(spark, p)
    return sorted(tuple(row) for row in Lowering(spark, streaming=False).frame(p.nodes[-1]).collect())


def counts_of(address, sink, store, **options):
    p = ps.Pipeline()
    source = ps.sources.files(address, "json", SCHEMA, streaming=True, store=store, **options)
    counted = p.read_from(source, name="files").group_by("part").rolling_aggregate("counts", total=ps.sum("n"), seen=ps.count())
    counted.write_to(ps.sinks.custom(sink), name="totals")
    return p


def totals(sink):
    return {row.part: (row.total, row.seen) for row in sink.rows}


@pytest.mark.parametrize("scheme", ["s3a", "s3"])
def test_files_of_a_bucket_are_read_by_keys_of_a_jobs_own(spark, store, scheme):
    store.put("annas", f"{scheme}/once/a.json", lines([1, 2]))
    store.put("annas", f"{scheme}/once/b.json", lines([3]))
    source = ps.sources.files(f"{scheme}://annas/{scheme}/once", "json", SCHEMA, store=by(store, "ann"))
    assert read(spark, source) == [(1, "a"), (2, "a"), (3, "a")]


def test_each_file_is_read_once_over_versions_and_named_state_goes_on(harness, store):
    store.put("annas", "steps/1.json", lines([1, 2], "a"))
    store.put("annas", "steps/2.json", lines([10], "b"))
    sink = Collected()
    harness.run(counts_of("s3a://annas/steps", sink, by(store, "ann")), until=lambda: totals(sink) == {"a": (3, 2), "b": (10, 1)})
    store.put("annas", "steps/3.json", lines([3], "a"))
    changed = Collected()
    p = counts_of("s3://annas/steps", changed, by(store, "ann"), maxFilesPerTrigger=1)
    harness.run(p, until=lambda: totals(changed) == {"a": (6, 3)})


def test_no_file_of_a_run_and_no_plan_holds_a_key(harness, spark, store, tmp_path, capfd):
    store.put("annas", "hidden/1.json", lines([1]))
    sink, (key, secret) = Collected(), store.users["ann"]
    harness.run(counts_of("s3a://annas/hidden", sink, by(store, "ann")), until=lambda: totals(sink) == {"a": (1, 1)})
    files = [path for path in everything_below(tmp_path) if path.is_file()]
    assert files
    assert [path for path in files if key.encode() in path.read_bytes() or secret.encode() in path.read_bytes()] == []
    p = ps.Pipeline()
    source = ps.sources.files("s3a://annas/hidden", "json", SCHEMA, store=by(store, "ann"))
    p.read_from(source, name="rows").write_to(ps.sinks.noop(), name="out")
    plan = compile_pipeline(spark, p)
    Lowering(spark, streaming=False).frame(p.nodes[-1]).explain("extended")
    shown = capfd.readouterr().out + str(plan) + repr(source)
    assert secret not in shown
    assert key not in shown


def test_jobs_of_one_java_reach_their_buckets_by_their_own_keys(spark, store):
    """Sessions share a JVM as the jobs of an engine do. Ann may read her bucket, and Bob may not."""
    store.put("shared", "both/a.json", lines([7]))
    store.put("bobs", "own/a.json", lines([8]))
    ann, bob = spark.newSession(), spark.newSession()
    shared, own = "s3a://shared/both", "s3a://bobs/own"
    assert read(ann, ps.sources.files(shared, "json", SCHEMA, store=by(store, "ann"))) == [(7, "a")]
    with pytest.raises(PipelineError, match=r"bucket 'shared' of S3: access is denied: check access_key"):
        read(bob, ps.sources.files(shared, "json", SCHEMA, store=by(store, "bob")))
    assert read(bob, ps.sources.files(own, "json", SCHEMA, store=by(store, "bob"))) == [(8, "a")]
    assert read(ann, ps.sources.files(shared, "json", SCHEMA, store=by(store, "ann"))) == [(7, "a")]


def test_a_key_that_has_changed_counts_from_the_next_run(spark, store, monkeypatch):
    store.put("annas", "rotated/a.json", lines([1]))
    source = ps.sources.files("s3a://annas/rotated", "json", SCHEMA, store=by(store, "ann"))
    right = store.users["ann"][1]
    monkeypatch.setenv("PITSTOP_SECRET_ANN_SECRET", "planted-old")
    with pytest.raises(PipelineError, match=r"bucket 'annas' of S3: ") as refusal:
        read(spark, source)
    assert "planted-old" not in str(refusal.value)
    monkeypatch.setenv("PITSTOP_SECRET_ANN_SECRET", right)
    assert read(spark, source) == [(1, "a")]


def test_one_job_that_reaches_a_bucket_in_two_ways_is_refused(spark, store):
    p = ps.Pipeline()
    for user in ("ann", "bob"):
        source = ps.sources.files("s3a://shared/both", "json", SCHEMA, store=by(store, user))
        p.read_from(source, name=user).write_to(ps.sinks.noop(), name=f"out-{user}")
    with pytest.raises(PipelineError, match=r"^Sources 'ann' \(.*\) and 'bob' \(.*\) reach bucket 'shared' in different ways: "):
        compile_pipeline(spark, p)


def faults(store, monkeypatch, case):
    """The address, and the store, of a source that cannot be read."""
    if case == "no bucket":
        monkeypatch.setenv("PITSTOP_SECRET_ROOT_KEY", store._rights[0])
        monkeypatch.setenv("PITSTOP_SECRET_ROOT_SECRET", store._rights[1])
        return "s3a://nobodys/in", by(store, "root")
    if case == "wrong key":
        monkeypatch.setenv("PITSTOP_SECRET_ANN_KEY", "AKIAPLANTEDNOBODY0")
        return "s3a://annas/in", by(store, "ann")
    if case == "no right":
        return "s3a://bobs/in", by(store, "ann")
    assert case == "away"
    away = ps.s3_store(endpoint=f"http://127.0.0.1:{free_port()}", access_key="secret:ANN_KEY", secret_key="secret:ANN_SECRET")
    return "s3a://annas/in", away


@pytest.mark.parametrize(
    ("case", "clause"),
    [
        ("no bucket", "bucket 'nobodys' of S3: there is no such bucket: make it, or correct its name."),
        ("wrong key", "bucket 'annas' of S3: access is denied: check access_key, secret_key, and the rights of their user."),
        ("no right", "bucket 'bobs' of S3: access is denied: check access_key, secret_key, and the rights of their user."),
        ("away", "bucket 'annas' of S3: the store does not answer (no connection)."),
    ],
)
def test_a_store_that_cannot_be_read_is_told_in_one_sentence_with_bucket_and_stage(spark, store, monkeypatch, case, clause):
    address, reached = faults(store, monkeypatch, case)
    with pytest.raises(PipelineError) as refusal:
        read(spark, ps.sources.files(address, "json", SCHEMA, store=reached))
    before, _, said = refusal.value.message.partition("): ")
    assert before.startswith("Stage 'rows' (test_s3_files.py:")
    assert said == clause
    assert "PLANTED" not in str(refusal.value)


def test_check_looks_into_the_bucket(spark, store):
    for number in range(3):
        store.put("annas", f"looked/{number}.json", lines([number]))
    p = ps.Pipeline()
    for name, address in (("files", "s3a://annas/looked"), ("pattern", "s3a://annas/none-*")):
        source = ps.sources.files(address, "json", SCHEMA, streaming=True, store=by(store, "ann"))
        p.read_from(source, name=name).write_to(ps.sinks.noop(), name=f"out-{name}")
    plan = compile_pipeline(spark, p)
    assert [sentence.partition("): ")[2] or sentence.partition(") ")[2] for sentence in findings(spark, p, plan)] == [
        "reads s3a://annas/looked, which has 3 files or folders.",
        "reads s3a://annas/none-*, where there is nothing yet.",
    ]
    concerns = {stage.name: stage.concern for stage in plan.stages if stage.op == "source"}
    assert concerns == {
        "files": None,
        "pattern": "reads s3a://annas/none-*, and there is no file or folder of that pattern now.",
    }


@pytest.mark.parametrize("state", ["busy", "stalls"])
def test_a_run_whose_store_does_not_answer_fails_so_that_it_is_tried_again(harness, spark, store, state):
    store.put("annas", f"{state}/1.json", lines([1]))
    sink, address, broken = Collected(), f"s3a://annas/{state}", []

    def break_off():
        if totals(sink) == {"a": (1, 1)} and not broken:
            broken.append(store.wire.be(state))
        return False

    try:
        with pytest.raises(ps.PitstopError) as failure:
            harness.run(counts_of(address, sink, by(store, "ann")), until=break_off)
        assert "bucket 'annas' of S3: the store does not answer (" in failure.value.message
        assert "stage 'files' (test_s3_files.py:" in failure.value.message
        assert failure.value.details["restartable"]
        assert failure.value.details["passing"]
    finally:
        store.wire.be("passes")
    assert read(spark, ps.sources.files(address, "json", SCHEMA, store=by(store, "ann"))) == [(1, "a")]
