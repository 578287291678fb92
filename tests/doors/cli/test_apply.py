"""``pitstop apply`` against a real server: the plan, the question, the deeds, and nothing to do the second time."""

import json

import pytest

from pitstop.model.job import JobState, Progress
from pitstop.model.operation import Cancel, Export
from tests.doors.doors import running

USAGE, REFUSED = 2, 4
ONE, TWO = "# stage: speed bigint", "# stage: speed bigint\n# stage: old double"


@pytest.fixture
def project(tmp_path, cli):
    class Project:
        path = tmp_path / "jobs.yaml"

        def code(self, name, text):
            (tmp_path / name).write_text(text)

        def jobs(self, text):
            self.path.write_text(f"jobs:\n{text}")

        def apply(self, *options):
            return cli("apply", "-f", self.path, *options)

        def plan(self, *options):
            code, out, _ = cli("-o", "json", "apply", "-f", self.path, "--dry-run", *options)
            return code, {job["name"]: job["steps"] for job in json.loads(out)}

    return Project()


def test_jobs_are_made_and_the_same_file_once_more_changes_nothing(project, state):
    project.code("a.py", ONE)
    project.code("b.py", "")
    project.jobs("  a: {artifact: a.py, args: [x, 5], options: {partitions: 3}}\n  b: {artifact: b.py, state: suspended}\n")
    code, out, _ = project.apply("--dry-run")
    assert (code, state.jobs()) == (0, [])
    assert out == "+ a  create\n+ b  create, then suspend\nPlan: 2 to create.\n"
    code, out, err = project.apply()
    assert (code, err, out.splitlines()[-4:]) == (
        0,
        "",
        ["Creating job 'a'...", "Creating job 'b'...", "Suspending job 'b'...", "Done."],
    )
    jobs = {job.name: job for job in state.jobs()}
    assert {name: job.status for name, job in jobs.items()} == {"a": JobState.RUNNING, "b": JobState.SUSPENDED}
    assert (jobs["a"].source.args, jobs["a"].config.partitions) == (("x", "5"), 3)
    assert project.apply() == (0, "= a  unchanged\n= b  unchanged\nPlan: 2 to leave unchanged.\n", "")
    assert {job.name: job.id for job in state.jobs()} == {name: job.id for name, job in jobs.items()}


def test_a_new_job_that_writes_the_rows_of_a_cancelled_one_again_is_warned_of_in_the_plan(project, state):
    into_folder = "# sink: out\n# into: the folder /rows"
    state.advance(first := running(state, "before", into_folder), Progress(epoch=1))
    state.do(first, Cancel())
    assert state.wait_for(first, (JobState.FAILED,), 20)
    project.code("a.py", into_folder)
    project.jobs("  a: {artifact: a.py}\n")
    code, out, _ = project.apply("--dry-run")
    warning = f"    Warning: Sink 'out' () writes into the folder /rows, as job 'before' ({first}) did, which is CANCELLED"
    assert (code, out.splitlines()[0], out.splitlines()[1][: len(warning)]) == (0, "+ a  create", warning)


def test_a_job_is_updated_where_it_differs_and_keeps_its_state(project, state):
    project.code("a.py", ONE)
    project.jobs("  a: {artifact: a.py}\n")
    assert project.apply()[0] == 0
    project.code("a.py", ONE + "\n# stage: more double")
    code, out, _ = project.apply()
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "~ a  update"
    assert lines[1].startswith("    artifact: a.py (")
    assert [line.split()[:2] for line in lines[2:5]] == [["source", "restored"], ["speed", "restored"], ["more", "new"]]
    assert (state.job("a").version, state.job("a").status) == (2, JobState.RUNNING)
    assert project.plan() == (0, {"a": []})
    project.jobs("  a: {artifact: a.py, options: {partitions: 5}, state: suspended}\n")
    assert project.plan() == (0, {"a": ["update", "suspend"]})
    assert project.apply()[0] == 0
    assert (state.job("a").config.partitions, state.job("a").status) == (5, JobState.SUSPENDED)
    project.jobs("  a: {artifact: a.py, options: {partitions: 5}}\n")
    assert project.apply()[0] == 0
    assert state.job("a").status is JobState.RUNNING


def test_state_is_dropped_only_by_leave(project, state):
    project.code("a.py", TWO)
    project.jobs("  a: {artifact: a.py}\n")
    assert project.apply()[0] == 0
    project.code("a.py", ONE)
    code, out, err = project.apply()
    assert (code, "old" in out) == (USAGE, True)
    assert "Saved state is dropped: job 'a' drops stage 'old'. Nobody is here to be asked: if that is meant, give --yes." in err
    assert state.job("a").version == 1
    assert project.apply("--dry-run")[0] == 0
    assert project.apply("--yes")[0] == 0
    assert state.job("a").version == 2


def test_the_file_itself_can_allow_it(project, state):
    project.code("a.py", TWO)
    project.jobs("  a: {artifact: a.py, options: {allow_drop: [old]}}\n")
    assert project.apply()[0] == 0
    project.code("a.py", ONE)
    assert project.apply()[0] == 0
    assert state.job("a").version == 2
    assert project.plan() == (0, {"a": []})


def test_if_one_version_is_refused_nothing_is_done(project, state):
    project.code("a.py", ONE)
    project.jobs("  a: {artifact: a.py}\n")
    assert project.apply()[0] == 0
    project.code("a.py", "# stage: speed double")
    project.code("b.py", "")
    project.jobs("  b: {artifact: b.py}\n  a: {artifact: a.py}\n")
    code, out, err = project.apply("--yes")
    assert (code, "refused" in out, err) == (REFUSED, True, "Nothing was done.\n")
    assert [(job.name, job.version) for job in state.jobs()] == [("a", 1)]
    project.jobs("  b: {artifact: b.py, initial_snapshot: nosuch}\n")
    code, out, _ = project.apply()
    assert (code, "ERROR: Didn't find a snapshot named 'nosuch'" in out) == (3, True)
    project.jobs("  c: {artifact: nosuch.py}\n")
    assert project.apply()[0] == USAGE


def test_a_cancelled_job_is_brought_back_with_its_state(project, state):
    project.code("a.py", ONE)
    project.jobs("  a: {artifact: a.py}\n")
    assert project.apply()[0] == 0
    job = state.job("a").id
    state.do(job, Cancel())
    code, out, _ = project.apply()
    assert (code, out.splitlines()[:2]) == (0, ["> a  resume", "    it is CANCELLED"])
    assert (state.job("a").id, state.job("a").status) == (job, JobState.RUNNING)


def test_a_job_starts_from_a_snapshot_when_it_is_made(project, state):
    state.do(running(state, "before", ONE), Export("monday"))
    project.code("a.py", ONE)
    project.jobs("  a: {artifact: a.py, initial_snapshot: monday}\n")
    code, out, _ = project.apply()
    assert (code, out.splitlines()[2].split()[:2]) == (0, ["speed", "restored"])
    assert state.job("a").config.initial_snapshot == "monday"
    assert project.plan() == (0, {"a": []})


def test_pruning_deletes_what_the_file_leaves_out_after_a_question(project, state):
    running(state, "other")
    project.code("a.py", ONE)
    project.jobs("  a: {artifact: a.py}\n")
    assert project.plan() == (0, {"a": ["create"]})
    assert project.plan("--prune") == (0, {"a": ["create"], "other": ["delete"]})
    code, _, err = project.apply("--prune")
    assert (code, "job 'other' is deleted with its saved state" in err) == (USAGE, True)
    assert [job.name for job in state.jobs()] == ["other"]
    assert project.apply("--prune", "--yes")[0] == 0
    assert [job.name for job in state.jobs()] == ["a"]
    assert state.kept_states() == []


def test_a_job_that_fails_keeps_the_others_from_nothing(project, state):
    project.code("a.py", "# fails: No such column.")
    project.code("b.py", "")
    project.jobs("  a: {artifact: a.py}\n  b: {artifact: b.py}\n")
    code, out, err = project.apply()
    assert code == 1
    assert "No such column." in out + err
