"""Short forms of the tests: a seed draws some tests of each module, so that every test has its turn within some runs.

Of the tests that the markers select, ``--draw SEED`` keeps one in thirty that are marked ``deep``, one in fifteen that are marked
``rules`` or ``long``, and one in six of the browser's (``page``). Of those without such a marker it keeps one in four of Spark's
and half of the doors', which are most of the time of ``make test``. Tests marked ``always`` come in every draw. The tests of a
module marked ``story`` build on one another: they come together or not at all. ``make test`` and CI take the commit for the seed.

``--until TIME`` (seconds since 1970) bounds a draw on a slow machine: what has not begun by then is skipped and told, unless it
is marked ``always``.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain

import pytest

ONE_IN = {"deep": 30, "rules": 15, "long": 15, "page": 6}
"""Marker -> of how many tests one is drawn; of a test with several markers the first here counts."""
ONE_IN_FOLDER = {"tests/spark/": 4, "tests/doors/": 2, "tests/fleet/": 2}
"""Folder -> of how many tests without such a marker one is drawn."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--draw", metavar="SEED", help="run only the tests that this seed draws")
    parser.addoption("--until", metavar="TIME", type=float, help="begin no drawn test after this time, in seconds since 1970")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--draw")
    return None if seed is None else f"tests are drawn: --draw={seed} draws the same ones again"


def pytest_runtest_setup(item: pytest.Item) -> None:
    until = item.config.getoption("--until")
    if until is not None and time.time() > until and _one_in(item) > 1:
        pytest.skip("the time for this draw is over")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("--draw")
    if seed is None:
        return
    drawn = draw(seed, items)
    config.hook.pytest_deselected(items=[item for item in items if item not in drawn])
    items[:] = [item for item in items if item in drawn]


def draw(seed: str, items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that are not slow, and a share of the slow ones of each module, or of a folder's small modules."""
    units: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        units[_module(item) if item.get_closest_marker("story") else item.nodeid].append(item)
    sizes = Counter((_module(tests[0]), _one_in(tests[0])) for tests in units.values())
    strata: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, (first, *_) in units.items():
        module, one_in = _module(first), _one_in(first)
        strata[module if sizes[module, one_in] >= one_in else module.rpartition("/")[0], one_in].append(name)
    names = chain.from_iterable(_share(seed, stratum, names, one_in) for (stratum, one_in), names in strata.items())
    return set(chain.from_iterable(units[name] for name in names))


def _share(seed: str, stratum: str, names: list[str], one_in: int) -> list[str]:
    """One in so many of these names; the seed also says whether a rest, too small for one of its own, gives one."""
    ordered = sorted(names, key=lambda name: _number(f"{seed} {name}"))
    return ordered[: (len(names) + _number(f"{seed} {stratum}") % one_in) // one_in]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest())


def _one_in(item: pytest.Item) -> int:
    if item.get_closest_marker("always"):
        return 1
    by_marker = (share for marker, share in ONE_IN.items() if item.get_closest_marker(marker))
    by_folder = (share for folder, share in ONE_IN_FOLDER.items() if item.nodeid.startswith(folder))
    return next(by_marker, next(by_folder, 1))


def _module(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]
