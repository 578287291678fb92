"""The road graph."""

from fleetsim.cities import CITIES, ROADS, neighbours


def test_there_are_about_thirty_cities_in_the_central_united_states():
    assert 28 <= len(CITIES) <= 32
    assert all(32 < latitude < 49 and -106 < longitude < -85 for latitude, longitude in CITIES.values())


def test_roads_join_known_cities_and_none_is_listed_twice():
    assert {city for road in ROADS for city in road} == set(CITIES)
    assert len({frozenset(road) for road in ROADS}) == len(ROADS)
    assert all(one != other for one, other in ROADS)


def test_a_road_leads_both_ways():
    roads = neighbours()
    assert all(city in roads[other] for city in CITIES for other in roads[city])


def test_every_city_can_be_reached_from_every_other():
    roads = neighbours()
    reached, pending = set(), ["Omaha"]
    while pending:
        city = pending.pop()
        if city not in reached:
            reached.add(city)
            pending.extend(roads[city])
    assert reached == set(CITIES)


def test_no_city_is_a_dead_end():
    assert all(len(others) >= 2 for others in neighbours().values())
