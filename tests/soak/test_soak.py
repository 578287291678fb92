"""A short soak, see ``make soak``: a random chain of versions, and a story of a job of a real server."""

from dataclasses import replace

import pytest

from tests.soak.runner import Worker, run_chain
from tests.soak.served.server import Server
from tests.soak.served.story import Step, story
from tests.soak.served.teller import Teller

SEEDS, LENGTH = (3,), 5
STEPS = (Step.CLOCK, Step.FAILS_AND_UPDATED, Step.FAILS_LATE)
IN_AN_ENGINE = (Step.JAVA_KILLED, Step.KILLED, Step.ROLLED_BACK)

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.deep, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("worker"))
    yield made
    made.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_of_versions_gives_what_the_reference_gives(worker, tmp_path, seed):
    assert run_chain(worker, seed, tmp_path / "chain", LENGTH).kills


def test_a_job_gives_what_the_reference_gives_whatever_befalls_it(tmp_path):
    with Server(tmp_path / "server") as server:
        assert Teller(server, replace(story(1), steps=STEPS), tmp_path / "story").tell() > 100


def test_a_job_in_an_engine_gives_what_the_reference_gives_whatever_befalls_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_ENGINE", "shared")
    with Server(tmp_path / "server") as server:
        assert Teller(server, replace(story(2), steps=IN_AN_ENGINE), tmp_path / "story").tell() > 100
