from datetime import datetime
from pathlib import Path

import pytest
import regions_v2
from regions import regions

from pitstop import PitstopError


def at(hour):
    return datetime(2026, 1, 1, hour)


def test_the_day_that_has_begun_is_whole_in_each_region(job_test):
    test = job_test(regions, "trips")
    test.push("trips", [("DE1", 10.0, at(8)), ("DE2", 5.0, at(9)), ("FR1", 7.0, at(9)), ("DE1", 1.0, at(10))])
    test.epoch()
    report = test.upgrade(regions_v2.regions)
    assert report.of("converted") == ("days",)
    assert "its state is migrated by 'by_region'" in report.text()
    test.push("trips", [("DE3", 4.0, at(11))])
    test.epoch()
    test.advance_time("1 day")
    regions_of_the_day = {key: (day["trips"], day["km"]) for key, day in test.entries("days").items()}
    assert regions_of_the_day == {"DE": (4, 20.0), "FR": (1, 7.0)}


def test_without_the_migration_the_update_is_refused_and_nothing_stops(job_test):
    test = job_test(regions, "trips")
    test.push("trips", [("DE1", 10.0, at(8))])
    test.epoch()
    with pytest.raises(PitstopError, match="days"):
        test.upgrade(regions_v2.regions(Path("trips")))  # the pipeline alone, without the function beside it
    test.push("trips", [("DE1", 1.0, at(9))])
    test.epoch()
    assert [(row["vin"], row["trips"]) for row in test.state("days")] == [("DE1", 2)]
