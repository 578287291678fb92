"""The short form of ``make fuzz``."""

import pytest

from tests.fuzz.api import fuzzer

EXAMPLES = 12


@pytest.mark.timeout(180)
@pytest.mark.long
def test_no_request_makes_the_server_fail_or_its_store_unreadable(tmp_path):
    with fuzzer(tmp_path) as tried:
        tried.run(EXAMPLES, number=1)
        jobs, _, maps = tried.read_everything()
    answers = tried.asked
    assert jobs, "some requests were good enough to do something"
    assert maps
    assert answers[400], answers
    assert answers[200], answers
