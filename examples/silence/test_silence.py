from silence import silence


def test_a_device_that_sends_nothing_is_silent_until_it_sends_again(job_test):
    test = job_test(silence, "reports")
    test.push("reports", [("attic", 20.5), ("cellar", 8.0)])
    test.epoch()
    test.advance_time("3 minutes")
    test.push("reports", [("attic", 21.0)])
    test.epoch()
    test.advance_time("3 minutes")
    assert test.entries("devices") == {
        "attic": {"device": "attic", "status": "here", "temperature": 20.5},
        "cellar": {"device": "cellar", "status": "silent", "temperature": 8.0},
    }
    test.advance_time("10 minutes")  # nobody sends
    assert [(row["device"], row["temperature"]) for row in test.rows("alerts")] == [("cellar", 8.0), ("attic", 21.0)]
    test.push("reports", [("cellar", 9.0)])
    test.epoch()
    assert test.entries("devices")["cellar"]["status"] == "here"
