"""The simulated fleet: seeded, complete, in two halves."""

import itertools
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

FLEET = Path(__file__).parents[2] / "examples" / "fleet"


def run(module, *arguments):
    environment = os.environ | {"PYTHONPATH": str(FLEET)}
    command = [sys.executable, "-m", f"fleetsim.{module}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def first(count, seed=7):
    from fleetsim.world import World

    return list(itertools.islice(World(seed).pings(), count))


def test_the_same_seed_gives_the_same_world_and_another_seed_another():
    assert first(600) == first(600)
    assert first(600) != first(600, seed=8)


def test_sixty_vehicles_report_every_thirty_seconds_and_half_are_alphas():
    from fleetsim.world import World, is_alpha

    pings = first(600)
    assert len({ping.vin for ping in pings}) == 60
    assert sum(is_alpha(vin) for vin in World(7).vins) == 30
    times = [ping.time for ping in pings if ping.vin == pings[0].vin]
    assert {round(b - a, 6) for a, b in itertools.pairwise(times)} == {30.0}


def test_vins_have_a_valid_check_digit():
    from fleetsim.vin import check_digit
    from fleetsim.world import World

    assert check_digit("1M8GDM9A_KP042788".replace("_", "X")) == "X"  # the example of the standard
    assert all(len(vin) == 17 and check_digit(vin) == vin[8] for vin in World(7).vins)


def test_every_city_can_be_reached_and_roads_go_both_ways():
    from fleetsim.cities import CITIES, neighbours

    roads = neighbours()
    assert all(city in roads[other] for city, others in roads.items() for other in others)
    reached, pending = set(), ["Chicago"]
    while pending:
        city = pending.pop()
        if city not in reached:
            reached.add(city)
            pending += roads[city]
    assert reached == set(CITIES)


def test_vehicles_drive_at_about_sixty_five():
    from fleetsim.world import miles

    world = first(60 * 200)
    # A vehicle keeps one speed for a whole trip, so only the fleet as a whole shows what is usual.
    steps = [
        miles((a.latitude, a.longitude), (b.latitude, b.longitude)) * 120
        for start in range(60)
        for a, b in itertools.pairwise(world[start::60])
        if "B0001" not in a.obd_codes
    ]
    usual = sorted(steps)[len(steps) // 2]
    assert 58 < usual < 72


def test_alpha_writes_its_half_as_lines_that_read_back_and_ends_on_request(tmp_path):
    from fleetsim.world import is_alpha
    from verify import emitted_alpha

    process = run("alpha", "--dir", str(tmp_path), "--speedup", "2000", "--torn")
    while sum(path.stat().st_size for path in tmp_path.glob("*.csv")) < 20_000:
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    count = json.loads(process.communicate(timeout=20)[0].splitlines()[-1])["pings"]
    mine = [ping for ping in first(10 * count) if is_alpha(ping.vin)][:count]
    assert emitted_alpha(tmp_path) == Counter((ping.vin, ping.time) for ping in mine)
    assert process.returncode == 0


@pytest.fixture
def beta():
    process = run("beta", "--speedup", "2000", "--keep", "500")
    yield process, json.loads(process.stdout.readline())["url"]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def test_beta_serves_its_half_without_gaps_and_keeps_the_last(beta):
    from fleetsim.world import is_alpha

    _, url = beta
    stats = url.replace("/pings", "/stats")
    while get(stats)["pings"] < 800:
        pass
    page = get(f"{url}?since=-1&limit=100")
    oldest = page[0]["sequence"]
    assert oldest > 0
    assert [ping["sequence"] for ping in page] == list(range(oldest, oldest + 100))
    mine = [ping for ping in first(4000) if not is_alpha(ping.vin)]
    assert all((p["vin"], p["time"]) == (mine[p["sequence"]].vin, mine[p["sequence"]].time) for p in page)
    assert get(f"{url}?since={10**9}&limit=5") == []


def test_the_verdict_counts_what_is_missed_and_what_is_doubled():
    from verify import compare

    emitted = Counter({("a", 1.0): 1, ("a", 2.0): 1, ("b", 1.0): 1})
    verdict = compare(emitted, Counter({("a", 1.0): 2, ("b", 1.0): 1}))
    assert (verdict.emitted, verdict.ingested, verdict.missed, verdict.doubled) == (3, 3, 1, 1)
