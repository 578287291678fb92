"""Places in topics that a source is put to, beside an epoch that was cut off: sinks that have it do not take it again."""

import json

from pitstop.spark.sources.kafka_places import SavedPlace, Topics, sought

IDS = {"orders": "id"}
TOPICS = Topics("cluster", IDS, {("orders", part): {"first": 0, "end": 500} for part in ("0", "1", "2")})
COMMITTED = {("orders", "0"): 100, ("orders", "1"): 200, ("orders", "2"): 300}
PLANNED = {("orders", "0"): 150, ("orders", "1"): 250, ("orders", "2"): 350}


def place(at):
    return SavedPlace("cluster", IDS, at)


def offsets(text):
    return {("orders", part): at for part, at in json.loads(text)["at"]["orders"].items()}


def test_a_partition_that_stays_or_is_put_further_on_keeps_the_end_of_the_epoch_that_was_cut_off():
    at = COMMITTED | {("orders", "0"): 124}
    there = sought("orders:0=124", at, place(COMMITTED), TOPICS, place(PLANNED))
    assert offsets(there.offset) == at
    assert offsets(there.planned) == PLANNED
    assert (there.clause, there.again) == (
        "is put to orders:0=124: 24 messages are skipped, 0 are read again (orders:0 at 124 instead of 100)",
        False,
    )


def test_a_partition_that_is_put_beyond_that_end_has_no_messages_in_the_epoch():
    at = COMMITTED | {("orders", "0"): 180}
    there = sought("orders:0=180", at, place(COMMITTED), TOPICS, place(PLANNED))
    assert offsets(there.planned) == PLANNED | {("orders", "0"): 180}


def test_a_partition_that_is_put_back_is_read_again_in_later_epochs_up_to_the_planned_end():
    at = COMMITTED | {("orders", "1"): 20}
    there = sought("orders:1=20", at, place(COMMITTED), TOPICS, place(PLANNED))
    assert offsets(there.planned) == PLANNED | {("orders", "1"): 20}
    assert "0 messages are skipped, 230 are read again" in there.clause
    assert there.again


def test_without_such_an_epoch_there_is_no_end_of_it():
    there = sought("orders:1=20", COMMITTED | {("orders", "1"): 20}, place(COMMITTED), TOPICS)
    assert there.planned == ""
    assert "180 are read again" in there.clause
