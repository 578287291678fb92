"""A short soak, see ``make soak``: random chains of versions, killed and cancelled at random moments."""

import pytest

from tests.soak.runner import Worker, run_chain

SEEDS = (3,)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("worker"))
    yield made
    made.close()


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_of_versions_gives_what_the_reference_gives(worker, tmp_path, seed):
    assert run_chain(worker, seed, tmp_path / "chain").kills
