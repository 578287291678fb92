"""The short form of ``make test-security``."""

import pytest

from tests.security.strike import striking

STEPS = 60


@pytest.mark.timeout(180)
def test_random_attacks_at_both_doors_come_to_nothing(tmp_path):
    with striking(tmp_path, seed=1) as strike:
        for _ in range(STEPS):
            strike.step()
    answers = strike.answers
    assert answers["sql 200"], answers
    assert answers["sql 403"], answers
    assert answers["postgres rows"], answers
    assert answers["stranger 401"], answers
