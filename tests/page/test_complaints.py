"""What people complain about in pages like this one, and where it is tried here that ours does better.

The complaints are those of Hazelcast Management Center, Flink, StreamPark, Flink's operators, Spark, Dagster, Redpanda Console,
AKHQ, kafka-ui, Argo CD and Temporal. A test of the front end's own logic is named by its file below web/src and its title.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRIED = {
    "Hazelcast: keys cannot be listed; a value needs its exact key and a class": [
        "tests/page/test_scripts.py::test_it_stands_there_as_text",
        "tests/page/test_story.py::test_all_of_the_lab_can_be_done_in_a_browser",
        "logic/exactJson.test.ts::what is read is written again to the last digit",
    ],
    "Hazelcast: a job hangs between two states, and nothing says so": [
        "screens/job/logic/verbs.test.ts::nothing crosses a termination, and the reason names it",
        "logic/problems.test.ts::an epoch that does not end is told",
    ],
    "Hazelcast: a deleted snapshot left a job that could not be resumed": [
        "tests/unit/control/test_snapshot_use.py::test_a_job_needs_what_it_starts_from_until_it_has_an_epoch_of_its_own",
        "screens/snapshots/manifestFacts.test.ts::jobs that go on from a snapshot",
    ],
    "Flink: no button for a savepoint": ["tests/page/test_actions.py::test_a_snapshot_is_exported_looked_into_and_deleted"],
    "Flink, Temporal: NaN stands there as a figure": ["logic/format.test.ts::what is not known is a dash, never NaN"],
    "Flink: a dialog asks 'Cancel Job?' with 'Cancel' and 'OK'; cancel looks like a link": [
        "tests/page/test_by_keyboard.py::test_a_job_is_cancelled_and_its_state_discarded"
    ],
    "Flink: attempts are not told apart": [
        "logic/changes.test.ts::what jobs did by themselves stands among what was asked for, the newest first"
    ],
    "StreamPark: nothing starts again from the snapshot of a job that was cancelled with one": [
        "tests/page/test_story.py::test_all_of_the_lab_can_be_done_in_a_browser",
        "screens/job/logic/verbs.test.ts::an ended job can be brought back while its state is kept",
    ],
    "StreamPark: a savepoint by hand is not recorded": [
        "tests/page/test_actions.py::test_a_snapshot_is_exported_looked_into_and_deleted"
    ],
    "Flink's operators: a stack trace stands where a state belongs": [
        "tests/page/test_screens.py::test_what_fails_is_told_first_and_in_words",
        "screens/job/logic/cause.test.ts::of a long cause the first three lines are shown, and all of it in the details",
    ],
    "Spark: the page dies with the driver": [
        "tests/page/test_actions.py::test_a_connection_that_is_lost_is_told_and_heals_itself"
    ],
    "Dagster, Argo CD: a large graph freezes the page": [
        "parts/graph/layout.test.ts::a pipeline of 200 stages has its places soon, each its own",
    ],
    "AKHQ: of a burst all but the first are dropped, and nobody says so": [
        "screens/maps/journal/tail.test.ts::what is left out of a burst is counted",
        "screens/maps/journal/tail.test.ts::what the server has lost is counted",
    ],
    "AKHQ: one tail blocks the other tabs": ["tests/doors/rest/test_events.py::test_many_streams_need_no_threads_and_all_hear"],
    "kafka-ui: a filter is lost when the page is read again": ["screens/jobs/filter.test.ts::an address may hold anything"],
    "kafka-ui, Temporal: what is shown has to be asked for again by hand": [
        "tests/page/test_actions.py::test_what_one_reader_does_others_see_at_once"
    ],
    "Argo CD: delete stands beside restart and asks the same": [
        "tests/page/test_by_keyboard.py::test_a_job_is_restarted",
        "tests/page/test_by_keyboard.py::test_a_job_is_cancelled_and_its_state_discarded",
    ],
    "Argo CD: a name has to be typed for everything": [
        "tests/page/test_actions.py::test_a_job_is_suspended_and_resumed_by_keyboard"
    ],
    "Argo CD: from the difference nothing can be done": [
        "tests/page/test_by_keyboard.py::test_a_job_is_updated_goes_back_to_a_version_and_is_rolled_back"
    ],
    "Argo CD: a panel tells of the operation before": [
        "screens/update/changeOver.test.ts::what a later update does is none of its events"
    ],
}
OPEN = {
    "AKHQ: a list of 1,500 takes 50 s; Temporal: the page waits until all is read": "make bench MEASURES=page has 1,000 jobs",
    "Redpanda Console, kafka-ui: filters cannot be saved": "an address with its filters can be kept; there is no list of them",
    "Redpanda Console: nothing can be copied of a tombstone": "an event of the journal has no button to copy it",
    "kafka-ui: entries cannot be filtered by a field on the server": "by key and prefix only; by field in SQL",
}
"""Not done: what there is instead."""


@pytest.mark.parametrize(("complaint", "test"), [(complaint, test) for complaint, tests in TRIED.items() for test in tests])
def test_where_it_is_tried_there_is_such_a_test(complaint, test):
    path, name = test.split("::")
    if path.endswith(".py"):
        assert f"\ndef {name}(" in (ROOT / path).read_text(), complaint
    else:
        text = (ROOT / "web" / "src" / path).read_text()
        assert f'"{name}"' in text, complaint
