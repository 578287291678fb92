"""The short forms of slow tiers (tests/drawing.py)."""

from dataclasses import dataclass

import pytest

from tests.drawing import draw


@dataclass(frozen=True)
class Item:
    """What a draw looks at of a test."""

    nodeid: str
    markers: tuple[str, ...] = ()

    def get_closest_marker(self, name):
        return name if name in self.markers else None


FAST = [Item(f"tests/unit/test_fast.py::test_{number}") for number in range(50)]
QUICK = [Item(f"tests/spark/test_quick.py::test_{number}", ("spark",)) for number in range(40)]
DOORS = [Item(f"tests/doors/test_door_{number}.py::test_it") for number in range(30)]
LARGE = [Item(f"tests/spark/test_large.py::test_{number}", ("long",)) for number in range(45)]
SMALL = [Item(f"tests/e2e/test_{number}.py::test_it", ("long",)) for number in range(30)]
DEEP = [Item(f"tests/spark/test_large.py::test_deep_{number}", ("long", "deep")) for number in range(60)]
ALWAYS = [Item("tests/e2e/test_always.py::test_it", ("long", "always"))]
STORY = [Item(f"tests/page/test_story.py::test_{number}", ("deep", "story")) for number in range(5)]
PAGE = [Item(f"tests/page/test_screens.py::test_{number}", ("page",)) for number in range(12)]
ALL = [*FAST, *QUICK, *DOORS, *LARGE, *SMALL, *DEEP, *ALWAYS, *STORY, *PAGE]


def test_one_seed_draws_the_same_tests_in_whatever_order_they_come():
    assert draw("one", ALL) == draw("one", reversed(ALL))


@pytest.mark.parametrize(
    ("tests", "share"),
    [(FAST, 50), (QUICK, 10), (DOORS, 15), (ALWAYS, 1), (LARGE, 3), (SMALL, 2), (DEEP, 2), (PAGE, 2)],
    ids=["fast", "spark", "doors", "always", "large", "small", "deep", "page"],
)
@pytest.mark.parametrize("seed", ["one", "two"])
def test_a_draw_has_its_share_of_each_kind(seed, tests, share):
    assert len(draw(seed, ALL) & set(tests)) == share


def test_a_test_that_is_alone_comes_in_its_share_of_the_draws():
    alone = [Item("tests/chaos/test_chaos.py::test_it", ("long", "deep"))]
    assert 2 <= sum(len(draw(str(seed), alone)) for seed in range(200)) <= 18


def test_every_test_has_its_turn_within_some_seeds():
    assert set().union(*(draw(str(seed), ALL) for seed in range(200))) == set(ALL)


def test_the_tests_of_a_story_come_together_or_not_at_all():
    assert {len(draw(str(seed), ALL) & set(STORY)) for seed in range(60)} == {0, len(STORY)}


def test_what_a_draw_does_not_begin_in_time_is_skipped_unless_it_comes_always(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.long
        def test_slow(): pass

        @pytest.mark.long
        @pytest.mark.always
        def test_each_time(): pass

        def test_fast(): pass
        """
    )
    pytester.makeini("[pytest]\nmarkers = long: slow\n    always: in every draw")
    result = pytester.runpytest_inprocess("-p", "tests.drawing", "--until", "0", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*the time for this draw is over"])
