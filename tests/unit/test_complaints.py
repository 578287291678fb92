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
        "tests/unit/control/test_life.py::test_a_second_termination_is_refused_and_the_first_goes_on",
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
        "tests/unit/control/test_life.py::test_a_job_that_has_failed_or_was_cancelled_is_brought_back_as_it_was",
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
    "AKHQ: a list of 1,500 takes 50 s; Temporal: the page waits until all is read": [
        "tests/page/test_large.py::test_fifteen_hundred_maps_are_listed_at_once_and_the_last_one_is_found",
        "tests/contract/test_map_store.py::test_of_many_maps_is_read_as_often_as_of_one",
    ],
    "Redpanda Console, kafka-ui: filters cannot be saved": [
        "tests/page/test_large.py::test_a_filter_of_jobs_is_saved_chosen_again_in_another_window_and_forgotten",
        "screens/jobs/saved.test.ts::a saved filter has its title once, and they stand in the order of their titles",
    ],
    "Redpanda Console: nothing can be copied of a tombstone": [
        "tests/page/test_large.py::test_of_an_entry_that_was_removed_the_event_can_be_copied_as_it_was"
    ],
    "kafka-ui: entries cannot be filtered by a field on the server": [
        "tests/page/test_large.py::test_entries_are_searched_by_a_field_on_the_server_which_says_when_it_has_stopped",
        "tests/doors/client/contract/test_maps.py::test_a_search_looks_at_so_many_entries_at_most_and_says_where_it_has_stopped",
    ],
}


@pytest.mark.parametrize(("complaint", "test"), [(complaint, test) for complaint, tests in TRIED.items() for test in tests])
def test_where_it_is_tried_there_is_such_a_test(complaint, test):
    path, name = test.split("::")
    if path.endswith(".py"):
        assert f"\ndef {name}(" in (ROOT / path).read_text(), complaint
    else:
        text = (ROOT / "web" / "src" / path).read_text()
        assert f'"{name}"' in text, complaint
