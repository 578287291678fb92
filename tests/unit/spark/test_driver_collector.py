"""On a small machine the driver's Java has the collector that needs least; whoever chooses a heap or a collector has that."""

import pytest

from pitstop.spark.base.session import driver_collector


def test_with_two_processors_and_the_heap_of_every_job_it_is_the_serial_one():
    assert "-XX:+UseSerialGC" in driver_collector({"JAVA_TOOL_OPTIONS": "-Dsome=thing"}, 2)


CHOSEN = [
    ({}, 3),
    ({"PITSTOP_DRIVER_MEMORY": "8g"}, 2),
    ({"JAVA_TOOL_OPTIONS": "-XX:+UseG1GC"}, 2),
    ({"JDK_JAVA_OPTIONS": "-XX:+UseZGC"}, 1),
]


@pytest.mark.parametrize(("environment", "processors"), CHOSEN)
def test_with_more_or_where_one_is_chosen_java_chooses(environment, processors):
    assert driver_collector(environment, processors) == []
