"""Random schedules of requests, epochs, crashes and clocks, each checked after every step; a failing one is shrunk and printed.

``make simulation SCHEDULES=5000`` tries more.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pitstop.model.job import JobSource
from pitstop.model.operation import Cancel, CancelAndExport, Discard, Export, Restart, Resume, Rollback, Suspend, UpdateJob
from tests.simulation.world import MEMBERS, World

SCHEDULES = int(os.environ.get("PITSTOP_SCHEDULES", "300"))
MOMENT = st.one_of(st.none(), st.integers(0, 24))
WHICH = st.integers(0, 3)
OPTIONS = {"processing_guarantee": "exactly_once"}


class Schedules(RuleBasedStateMachine):
    """What may happen to one job, in any order."""

    def __init__(self):
        super().__init__()
        self.world = World()
        self.versions = 1

    @initialize(
        artifact=st.sampled_from(["v1.py", "v1.py", "v1.py", "v1-bounded.py", "v1-fails.py"]),
        follows=st.sampled_from([True, True, False]),
        protected=st.sampled_from([False, False, True]),
    )
    def submit(self, artifact, follows, protected):
        self.world.submit(artifact, auto_scaling=follows, split_brain_protection=protected)

    @rule(request=st.sampled_from([Suspend(), Resume(), Restart(), Export("kept"), CancelAndExport("last"), Cancel(), Resume()]))
    def ask(self, request):
        self.world.ask(request)

    @rule()
    def roll_back(self):
        self.world.ask(Rollback())

    @rule()
    def discard(self):
        self.world.ask(Discard())

    @rule(kind=st.sampled_from(["", "", "-broken", "-unfit", "-fails"]), watch=st.sampled_from([0.0, 0.0, 30.0]))
    def update(self, kind, watch):
        self.versions += 1
        self.world.ask(UpdateJob(JobSource(f"v{self.versions}{kind}.py"), OPTIONS, f"before-{self.versions}", watch))

    @rule(moment=MOMENT)
    def control_loop(self, moment):
        self.world.round(moment)

    @rule(which=WHICH, moment=MOMENT)
    def slow_work(self, which, moment):
        self.world.act(which, moment)

    @rule(which=WHICH, moment=MOMENT)
    def runner(self, which, moment):
        self.world.run(which, moment)

    @rule(which=WHICH, moment=MOMENT)
    def epoch(self, which, moment):
        self.world.epoch(which, moment)

    @rule()
    def all_go_on(self):
        """So that schedules get somewhere."""
        self.world.all_go_on()

    @rule(calls=st.integers(1, 3))
    def the_launcher_fails(self, calls):
        """The next calls to the launcher and its workers raise OSError."""
        self.world.launcher_faults.left = calls

    @rule(calls=st.integers(1, 8))
    def the_store_is_away(self, calls):
        """The next reads and writes of it fail, whoever does them."""
        self.world.store_faults.left = calls

    @rule(which=WHICH)
    def kill(self, which):
        self.world.kill(which)

    @rule(which=WHICH)
    def hang_or_go_on(self, which):
        self.world.hang(which)

    @rule(there=st.sets(st.sampled_from(MEMBERS), min_size=1))
    def members_come_and_go(self, there):
        self.world.there = tuple(sorted(there))

    @rule(seconds=st.sampled_from([1.0, 8.0, 45.0, 120.0]))
    def sleep(self, seconds):
        self.world.sleep(seconds)

    @rule(which=WHICH, moment=MOMENT)
    def delete_snapshot(self, which, moment):
        self.world.delete_snapshot(which, moment)

    @rule(days=st.sampled_from([0.05, 1.5]))
    def time_passes_until_it_is_swept(self, days):
        """Past the next sweep, the age of what is left over, and the time for which what was cancelled is kept."""
        self.world.let_days_pass(days)

    @rule(seconds=st.sampled_from([-3600.0, -2.0, 2.0, 3600.0]))
    def set_the_clock(self, seconds):
        self.world.clock.set_by(seconds)

    @invariant()
    def holds(self):
        if self.world.job is not None:
            self.world.check()
            self.world.check_no_event_twice()

    def teardown(self):
        if self.world.job is None:
            return
        self.world.settle()
        self.world.check_no_event_twice()
        self.world.check_no_event_missing()


Schedules.TestCase.settings = settings(
    max_examples=SCHEDULES,
    stateful_step_count=40,
    deadline=None,
    derandomize="PITSTOP_SCHEDULES" not in os.environ,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
TestSchedules = Schedules.TestCase
