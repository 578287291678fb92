from datetime import datetime

from trips import trips

NOON = datetime(2026, 1, 1, 12)


def test_trips_have_what_the_tables_say_when_they_are_read(job_test, tmp_path):
    cars = tmp_path / "cars"
    cars.mkdir()
    (cars / "cars.csv").write_text("vin,make\ncar1,Ford\n")
    test = job_test(trips, "trips", cars, "/out")
    test.push("trips", [("car1", 12.5, NOON), ("car2", 3.0, NOON)])
    test.epoch()
    assert [(row["vin"], row["make"], row["depot"]) for row in test.rows("known")] == [("car1", "Ford", None)]
    assert [row["vin"] for row in test.rows("unknown")] == ["car2"]

    (cars / "cars.csv").write_text("vin,make\ncar1,Ford\ncar2,Fiat\n")
    test.put("depots", {"car1": {"depot": "north"}})
    test.refresh_tables()
    test.push("trips", [("car1", 1.0, NOON), ("car2", 2.0, NOON)])
    test.epoch()
    later = sorted((row["vin"], row["make"], row["depot"]) for row in test.rows("known")[1:])
    assert later == [("car1", "Ford", "north"), ("car2", "Fiat", None)]
