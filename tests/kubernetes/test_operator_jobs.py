"""What is asked of jobs, and of their cluster while they run: by their spec, and otherwise. One cluster for all tests."""

import json
import re
import secrets
import statistics
import time
import zipfile

import pytest

from pitstop.operator.jobs import AWAY_SECONDS
from pitstop.operator.kinds import JET_JOB
from tests.kubernetes.manifests import a_map, snapshot
from tests.kubernetes.operating import make_jar, operator
from tests.kubernetes.phases import Phases
from tests.kubernetes.rig.clients import ClientError
from tests.kubernetes.user import JOB_SECONDS, SOON_SECONDS, UP_SECONDS, User

pytestmark = pytest.mark.long

RESTARTS = 3
SAID_SECONDS = 2.0
WATCH_SECONDS = 1.0
"""What the test's own watch, beside all the pods, may take on top."""


@pytest.fixture(scope="module")
def user(cluster, tmp_path_factory):
    """A user of a cluster with one job, transaction-v1."""
    files = tmp_path_factory.mktemp("artifacts")
    make_jar(files)
    name = f"test-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    with operator(cluster, tmp_path_factory.mktemp("operator"), f"--files-from={files}", f"--namespace={name}") as process:
        kubectl = cluster.kubectl.within(name)
        kubectl.until(lambda: kubectl.exists("serviceaccount", "default"), 120, "the namespace gets its service account")
        found = User(kubectl, files)
        try:
            found.start_cluster()
            found.submit("transaction-v1")
            yield found
            kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=120)
            process.check()
        finally:
            cluster.kubectl("delete", "namespace", name, "--wait=false")


def test_a_job_is_suspended_and_resumed_by_its_spec(user):
    user.ask_for("transaction-v1", "Suspended")
    user.until("jetjob", "transaction-v1", "Suspended")
    assert user.status("jetjob", "transaction-v1")["suspensionCause"] == "Requested by user"
    user.ask_for("transaction-v1", "Running")
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)


def test_what_others_do_to_a_job_is_seen_and_what_its_spec_says_is_brought_about(user):
    user.pitstop("suspend", "transaction-v1")
    seen = ("Suspended", "NotRunning", "Starting")
    user.kubectl.until(lambda: user.phase("jetjob", "transaction-v1") in seen, SOON_SECONDS, "the status says so")
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)


def test_what_the_command_line_does_to_a_job_is_seen_within_two_seconds(cluster, user):
    phases = Phases(cluster, JET_JOB, user.kubectl.namespace)
    try:
        seconds = [each for _ in range(RESTARTS) for each in user.restart_by_command("transaction-v1", phases)]
    finally:
        phases.stop()
    print(f"until a status has said what has become of its job: {sorted(seconds)}")
    assert len(seconds) >= 2 * RESTARTS
    assert statistics.median(seconds) < SAID_SECONDS
    assert max(seconds) < SAID_SECONDS + WATCH_SECONDS


def test_a_job_is_restarted_once_for_each_time_that_it_is_asked_for(user):
    def runs():
        return user.pitstop("events", "transaction-v1").count("STARTING -> RUNNING (")

    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    before = runs()
    user.ask_for("transaction-v1", "Restarted")
    user.kubectl.until(lambda: user.phase("jetjob", "transaction-v1") != "Running", SOON_SECONDS, "it begins anew")
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    generation = user.kubectl.get("jetjob", "transaction-v1")["metadata"]["generation"]
    user.kubectl.until(
        lambda: user.status("jetjob", "transaction-v1")["observedGeneration"] == generation, SOON_SECONDS, "it is observed"
    )
    user.kubectl("annotate", "jetjob", "transaction-v1", "looked=at")  # a change that asks for nothing
    user.put(1)
    user.until_logged("transaction-v1", [1])
    assert user.phase("jetjob", "transaction-v1") == "Running"
    assert runs() == before + 1
    edited = user.job("transaction-v1", state="Restarted")
    edited["spec"]["bucketConfig"]["secretName"] = "another"
    user.kubectl.apply(edited)
    generation = user.kubectl.get("jetjob", "transaction-v1")["metadata"]["generation"]
    user.kubectl.until(
        lambda: user.status("jetjob", "transaction-v1")["observedGeneration"] == generation, SOON_SECONDS, "it is observed"
    )
    told = [each["reason"] for each in user.kubectl.list("event") if each["involvedObject"]["name"] == "transaction-v1"]
    assert "CodeStays" in told
    assert (user.phase("jetjob", "transaction-v1"), runs()) == ("Running", before + 1)


def test_deleting_a_snapshot_removes_what_was_saved(user):
    user.kubectl.apply(snapshot("to-remove"))
    user.until("jetjobsnapshot", "to-remove", "Exported")
    assert "to-remove" in user.pitstop("list-snapshots")
    user.kubectl("delete", "jetjobsnapshot", "to-remove", "--wait=true")
    assert "to-remove" not in user.pitstop("list-snapshots")


def test_of_two_snapshots_with_one_name_the_second_takes_nothing_from_the_first(user):
    user.kubectl.apply(snapshot("first", name="same"))
    user.until("jetjobsnapshot", "first", "Exported")
    folder = user.status("jetjobsnapshot", "first")["savedAs"]
    user.kubectl.apply(snapshot("second", name="same"))
    user.until("jetjobsnapshot", "second", "Failed")
    assert user.status("jetjobsnapshot", "second")["message"] == "JetJobSnapshot first already uses the same name"
    user.kubectl("delete", "jetjobsnapshot", "second", "--wait=true")
    assert saved(user)["same"].endswith(f"/{folder}")
    # Somebody else, by the command line, has another state saved under that name.
    user.pitstop("save-snapshot", "transaction-v1", "same")
    theirs = saved(user)["same"]
    user.kubectl("delete", "jetjobsnapshot", "first", "--wait=true")
    assert saved(user)["same"] == theirs
    user.pitstop("delete-snapshot", "same")


def saved(user):
    """The folders of saved states by their names."""
    return {each["name"]: each["path"] for each in json.loads(user.pitstop("list-snapshots", "-o", "json"))}


def test_a_job_that_was_submitted_otherwise_is_left_alone_and_keeps_its_name(user):
    code = "import pitstop as ps\n\n\n@ps.job()\ndef other():\n    p = ps.Pipeline()\n"
    code += '    p.read_from(ps.sources.rate(1), name="rate").write_to(ps.sinks.noop(), name="out")\n    return p\n'
    user.kubectl(
        *("exec", "hazelcast-control-plane-0", "--container=hazelcast", "--stdin", "--", "sh", "-c"),
        "cat > /tmp/other.py && pitstop submit --name other /tmp/other.py",
        send=code,
        seconds=JOB_SECONDS,
    )
    user.kubectl.apply(user.job("other"))
    told = "other"
    user.kubectl.until(lambda: told in user.status("jetjob", "other").get("failureText", ""), SOON_SECONDS, "the name is taken")
    user.kubectl("delete", "jetjob", "other", "--wait=true")
    assert "other" in user.pitstop("list-jobs")
    user.pitstop("cancel", "other")


def test_an_archive_of_classes_is_refused_with_a_sentence(user):
    with zipfile.ZipFile(user.bucket / "classes.jar", "w") as jar:
        jar.writestr("org/examples/Job.class", b"\xca\xfe\xba\xbe")
    user.kubectl.apply(user.job("java", jarName="classes.jar"))
    text = "classes.jar holds no Python: Pitstop runs Python packages, not Java classes."
    user.kubectl.until(lambda: user.status("jetjob", "java")["failureText"] == text, SOON_SECONDS, "it says so")


TIMED = """import pitstop as ps


@ps.job()
def timed(readings: str, letters: str) -> ps.Pipeline:
    pipeline = ps.Pipeline()
    rows = pipeline.read_from(ps.sources.map_journal(readings), name="readings").select(
        "key", "timestamp_seconds(cast(new_value AS bigint)) AS ts"
    )
    taken = rows.with_timestamps("ts", dead_letters=ps.sinks.map(letters, key="text", value="error"))
    taken.write_to(ps.sinks.map("taken", key="key", value="ts"), name="taken")
    return pipeline
"""


def test_rows_far_ahead_of_the_clock_are_dead_letters_and_the_status_says_how_many(user):
    (user.bucket / "timed.py").write_text(TIMED)
    user.kubectl.apply(a_map("readings", eventJournal={"capacity": 100}))
    user.until("map", "readings", "Success")
    options = {"max_ahead": "1 hour"}
    user.submit("timed", jarName="timed.py", mainClass="timed:timed", arguments=["readings", "letters"], options=options)
    now = int(time.time())
    for key, ahead in (("near", 1800), ("far", 7200), ("farther", 7200_000)):
        user.pitstop("map", "put", "readings", key, str(now + ahead))
    user.kubectl.until(lambda: len(entries(user, "letters")) == 2, JOB_SECONDS, "there are two dead letters")
    letters = {json.loads(text)["key"]: error for text, error in entries(user, "letters").items()}
    assert letters.keys() == {"far", "farther"}
    assert all(error.endswith(", more than 1 hour ahead of the clock") for error in letters.values())
    user.kubectl.until(lambda: entries(user, "taken").keys() == {"near"}, SOON_SECONDS, "the row in time is taken")
    user.kubectl.until(
        lambda: re.search("^Left out: +2 too far ahead of the clock$", user.pitstop("status", "timed"), re.MULTILINE) is not None,
        SOON_SECONDS,
        "its status says so",
    )
    status = user.status("jetjob", "timed")
    assert (status["phase"], status.get("failureText")) == ("Running", None)
    user.kubectl("delete", "jetjob", "timed", "--wait=true", seconds=120)


def entries(user, name):
    """The values of a map by their keys; none of a map that nobody has made yet."""
    maps = {each["name"] for each in json.loads(user.pitstop("map", "list", "-o", "json"))}
    found = json.loads(user.pitstop("map", "entries", name, "-o", "json")) if name in maps else []
    return {each["key"]: each["value"] for each in found}


def test_a_job_waits_for_the_credentials_of_its_bucket_and_then_starts_by_itself(user):
    bucket = {"bucketURI": f"file://{user.bucket}", "secretName": "later"}
    user.kubectl.apply(user.job("patient", bucketConfig=bucket))
    user.kubectl.until(
        lambda: user.status("jetjob", "patient")["failureText"] == "Bucket credentials Secret not found",
        SOON_SECONDS,
        "it says so",
    )
    user.kubectl("create", "secret", "generic", "later", "--from-literal=nothing=needed")
    user.until("jetjob", "patient", "Running", JOB_SECONDS)
    digest = user.status("jetjob", "patient")["artifactDigest"]
    assert digest.startswith("sha256:")
    user.kubectl("delete", "jetjob", "patient", "--wait=true", seconds=120)
    assert "patient" not in user.pitstop("list-jobs")


def test_members_join_and_leave_by_the_size_of_the_cluster(user):
    user.kubectl("scale", "hazelcast", "hazelcast", "--replicas=2")
    user.kubectl.until(lambda: members(user) == "2/2", SOON_SECONDS * 2, "two members")
    user.kubectl("scale", "hazelcast", "hazelcast", "--replicas=1")
    user.kubectl.until(lambda: members(user) == "1/1", SOON_SECONDS * 3, "one member")
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)


def test_a_rolling_restart_of_all_pods_loses_and_doubles_nothing(user):
    user.put(2)
    user.until_logged("transaction-v1", [1, 2])
    for name in ("hazelcast-control-plane", "hazelcast"):
        user.kubectl("rollout", "restart", f"statefulset/{name}")
        user.kubectl("rollout", "status", f"statefulset/{name}", f"--timeout={UP_SECONDS:.0f}s", seconds=UP_SECONDS + 10)
    user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    user.put(3)
    # The pods are new, and so are their logs: what was logged before is not logged again.
    user.kubectl.until(lambda: user.logged("transaction-v1") != [], JOB_SECONDS, "it goes on")
    assert user.logged("transaction-v1") == [3]


def test_a_cluster_that_was_stopped_whole_has_all_that_it_had(cluster, user):
    user.kubectl.apply(snapshot("before-the-stop"))
    user.until("jetjobsnapshot", "before-the-stop", "Exported")
    had = jobs(user), saved(user), user.pitstop("map", "entries", "transaction"), user.status("jetjob", "transaction-v1")
    nodes = [each["metadata"]["name"] for each in cluster.kubectl.list("node")]
    cluster.kubectl("cordon", *nodes)
    try:
        user.kubectl("delete", "pod", "--all", "--grace-period=1", "--wait=true", seconds=120)
        user.kubectl.until(
            lambda: user.phase("jetjob", "transaction-v1") == "Failed", AWAY_SECONDS + SOON_SECONDS, "the job is not seen"
        )
        status = user.status("jetjob", "transaction-v1")
        assert status["failureText"] == "Hazelcast 'hazelcast' is not running"
        assert {each["type"]: each["status"] for each in status["conditions"]}["Ready"] == "False"
        assert (status["id"], status["submissionTime"]) == (had[3]["id"], had[3]["submissionTime"])
    finally:
        cluster.kubectl("uncordon", *nodes)
    user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    user.put(4)
    user.kubectl.until(lambda: user.logged("transaction-v1") != [], JOB_SECONDS, "it goes on")
    assert user.logged("transaction-v1") == [4]  # by the new pods; the logs of the old ones went with them
    assert (jobs(user), saved(user)) == had[:2]
    user.pitstop("map", "delete", "transaction", "transaction-4")
    assert user.pitstop("map", "entries", "transaction") == had[2]
    assert user.status("jetjobsnapshot", "before-the-stop")["state"] == "Exported"


def jobs(user):
    """Name and id of each."""
    return sorted((each["name"], each["id"]) for each in json.loads(user.pitstop("list-jobs", "--all", "-o", "json")))


def test_what_was_changed_or_removed_by_hand_is_as_before(user):
    user.kubectl("scale", "statefulset", "hazelcast", "--replicas=3")
    user.kubectl.until(
        lambda: user.kubectl.get("statefulset", "hazelcast")["spec"]["replicas"] == 1, SOON_SECONDS, "as the resource says"
    )
    user.kubectl("delete", "poddisruptionbudget", "hazelcast")
    user.kubectl.until(lambda: user.kubectl.exists("poddisruptionbudget", "hazelcast"), SOON_SECONDS, "it is there again")


def test_a_cancelled_job_stays_so(user):
    user.ask_for("transaction-v1", "Canceled")
    user.until("jetjob", "transaction-v1", "ExecutionFailed", SOON_SECONDS)
    with pytest.raises(ClientError, match="job execution is finished or being finished, state change is not allowed"):
        user.ask_for("transaction-v1", "Running")


def members(user):
    return user.status("hazelcast", "hazelcast").get("hazelcastClusterStatus", {}).get("readyMembers")
