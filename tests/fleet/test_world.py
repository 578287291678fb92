"""The simulated world. Distances here are by the chord between two points, not by the world's own formula."""

import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from collections import defaultdict

import pytest
from fleetsim.cities import CITIES, neighbours
from fleetsim.world import AIR_BAG, CODES, World, is_alpha, miles

from .conftest import FLEET


def first(count, **options):
    return list(itertools.islice(World(**options).pings(), count))


def by_vehicle(pings):
    found = defaultdict(list)
    for ping in pings:
        found[ping.vin].append(ping)
    return found


def distance(one, other):
    """Miles between two points given in degrees."""

    def on_sphere(point):
        latitude, longitude = map(math.radians, point)
        return math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude)

    return 2 * 3958.8 * math.asin(math.dist(on_sphere(one), on_sphere(other)) / 2)


def place(ping):
    return ping.latitude, ping.longitude


def test_the_same_seed_gives_the_same_pings():
    assert first(5000, seed=3) == first(5000, seed=3)


def test_one_world_tells_its_story_again_from_the_beginning():
    world = World(seed=3)
    assert list(itertools.islice(world.pings(), 500)) == list(itertools.islice(world.pings(), 500))


def test_another_seed_gives_other_vehicles_and_other_pings():
    one, other = first(60, seed=3), first(60, seed=4)
    assert not {ping.vin for ping in one} & {ping.vin for ping in other}
    assert not {place(ping) for ping in one} & {place(ping) for ping in other}


def test_another_process_with_another_hash_seed_makes_the_same_pings():
    program = (
        "import itertools, json; from fleetsim.world import World\n"
        "print(json.dumps([repr(p) for p in itertools.islice(World(5).pings(), 3000)]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    run = subprocess.run([sys.executable, "-c", program], cwd=FLEET, env=environment, capture_output=True, check=True)
    assert json.loads(run.stdout) == [repr(ping) for ping in first(3000, seed=5)]


def test_pings_come_in_the_order_of_their_time():
    pings = first(10_000, vehicles=7)
    assert all(one.time < other.time for one, other in itertools.pairwise(pings))


def test_each_vehicle_reports_every_thirty_seconds_at_a_phase_of_its_own():
    vehicles = by_vehicle(first(6000, start_time=1000.0)).values()
    assert {ping.time - 1000.0 for ping, *_ in vehicles} == {number * 0.5 for number in range(60)}
    for pings in vehicles:
        assert [ping.time - pings[0].time for ping in pings] == [turn * 30.0 for turn in range(100)]


def test_the_start_time_moves_the_times_and_nothing_else():
    one, other = first(300, start_time=0.0), first(300, start_time=86_400.0)
    assert [ping.time + 86_400.0 for ping in one] == [ping.time for ping in other]
    assert [place(ping) for ping in one] == [place(ping) for ping in other]


def test_alpha_has_the_even_half_of_the_vehicles_and_beta_the_odd_half():
    vins = World().vins
    assert len(set(vins)) == 60
    assert {vin for vin in vins if is_alpha(vin)} == {vin for vin in vins if vin[-1] in "02468"}
    assert sum(map(is_alpha, vins)) == 30


def test_alpha_and_beta_together_are_the_world():
    world = World(seed=9)
    alpha, beta = (list(itertools.islice(pings, 1500)) for pings in (world.alpha_pings(), world.beta_pings()))
    assert all(is_alpha(ping.vin) for ping in alpha)
    assert not any(is_alpha(ping.vin) for ping in beta)
    assert sorted(alpha + beta, key=lambda ping: ping.time) == first(3000, seed=9)


def moving_speeds(pings):
    """Miles per hour between successive pings of each vehicle, of those on one straight line."""
    for reports in by_vehicle(pings).values():
        for before, here, after in zip(reports, reports[1:], reports[2:], strict=False):
            one, other = distance(place(before), place(here)), distance(place(here), place(after))
            if one > 0 and math.isclose(one, other, rel_tol=0.01):
                yield one * 120


def test_speeds_are_spread_around_sixty_five_miles_an_hour():
    speeds = list(moving_speeds(first(60 * 3000)))
    # Slow trips take longer and so report oftener: the mean over reports is 1 / E(1/v), about 65 - 10**2 / 65.
    assert statistics.mean(speeds) == pytest.approx(63.4, abs=1.2)
    assert statistics.stdev(speeds) == pytest.approx(10, abs=1.5)
    within = sum(55 <= speed <= 75 for speed in speeds) / len(speeds)
    assert within == pytest.approx(0.68, abs=0.07)


def test_nobody_leaps_and_nobody_creeps():
    for reports in by_vehicle(first(60 * 2000)).values():
        for here, there in itertools.pairwise(reports):
            assert distance(place(here), place(there)) * 120 < 65 + 6 * 10


def test_every_position_lies_on_a_road():
    roads = [(CITIES[city], CITIES[other]) for city, others in neighbours().items() for other in others]

    def off_road(point):
        return min(abs(distance(a, point) + distance(point, b) - distance(a, b)) / distance(a, b) for a, b in roads)

    # A straight line in degrees bends a little away from the great circle between its ends.
    assert max(off_road(place(ping)) for ping in first(60 * 400)[::37]) < 0.002


def test_vehicles_get_about():
    pings = first(60 * 2000)
    near = {
        city
        for ping in pings
        for city, spot in CITIES.items()
        if abs(spot[0] - ping.latitude) < 0.05 and distance(spot, place(ping)) < 3
    }
    assert len(near) >= 25


def test_codes_are_set_and_cleared_one_at_a_time():
    seen, cleared = set(), 0
    for reports in by_vehicle(first(60 * 1000)).values():
        for here, there in itertools.pairwise(reports):
            codes = set(there.obd_codes) - {AIR_BAG}
            assert len(codes) <= 1
            assert codes <= set(CODES)
            assert not (here.obd_codes and codes) or here.obd_codes[0] in codes, "a code is cleared before another is set"
            seen |= codes
            cleared += bool(here.obd_codes and not codes)
    assert seen == set(CODES)
    assert cleared > 100


def test_a_crashed_vehicle_stands_still_and_reports_its_air_bag_from_then_on():
    crashes = 0
    for reports in by_vehicle(first(60 * 2000)).values():
        at = next((turn for turn, ping in enumerate(reports) if AIR_BAG in ping.obd_codes), None)
        if at is not None:
            crashes += 1
            assert {(place(ping), ping.obd_codes) for ping in reports[at:]} == {(place(reports[at]), reports[at].obd_codes)}
    # 60 vehicles at 0.0002 a report for 2,000 reports: 1 - 0.9998 ** 2000 = 33 % of them.
    assert 8 <= crashes <= 32


def test_the_distance_between_cities_agrees_with_another_formula():
    for city, others in neighbours().items():
        for other in others:
            assert miles(CITIES[city], CITIES[other]) == pytest.approx(distance(CITIES[city], CITIES[other]), rel=1e-9)


@pytest.mark.parametrize("vehicles", [0, -1, 1_000_001])
def test_a_number_of_vehicles_that_vins_cannot_tell_apart_is_refused(vehicles):
    with pytest.raises(ValueError, match=f"1 to 1000000 vehicles, not {vehicles}"):
        World(vehicles=vehicles)
