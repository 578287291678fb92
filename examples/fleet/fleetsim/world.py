"""The simulated world: pure, seeded, endless. The same seed gives the same pings."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from fleetsim.cities import CITIES, neighbours
from fleetsim.vin import make_vin

REPORT_SECONDS = 30.0
CODES = ("P0010", "P0128", "P0171", "P0101", "P0A0F", "P2210", "U0001")
AIR_BAG = "B0001"
START_TIME = 1_700_000_000.0
_EARTH_MILES = 3958.8
_CODE_CHANCE, _CRASH_CHANCE = 0.02, 0.0002


@dataclass(frozen=True)
class Ping:
    vin: str
    latitude: float
    longitude: float
    time: float
    """Seconds since the epoch."""
    obd_codes: tuple[str, ...]


class Vehicle:
    """One vehicle; draws only from its own random numbers, so vehicles do not disturb one another."""

    def __init__(self, seed: int, number: int) -> None:
        self._rng = random.Random(f"{seed}/{number}")
        self.vin = make_vin(self._rng, number)
        self._roads = neighbours()
        self._from = self._rng.choice(sorted(CITIES))
        self._codes: set[str] = set()
        self._crashed = False
        self._set_out()

    def report(self, time: float) -> Ping:
        """Drive for one report interval and tell where it got to."""
        if not self._crashed:
            self._drive(REPORT_SECONDS / 3600)
            self._trouble()
        latitude, longitude = self._position()
        codes = (AIR_BAG,) if self._crashed else tuple(sorted(self._codes))
        return Ping(self.vin, latitude, longitude, time, codes)

    def _set_out(self) -> None:
        self._to = self._rng.choice(self._roads[self._from])
        self._miles = miles(CITIES[self._from], CITIES[self._to])
        self._driven = 0.0

    def _drive(self, hours: float) -> None:
        self._driven += max(5.0, self._rng.gauss(65, 10)) * hours
        if self._driven >= self._miles:
            self._from = self._to
            self._set_out()

    def _trouble(self) -> None:
        if self._rng.random() < _CRASH_CHANCE:
            self._crashed = True
        elif self._rng.random() < _CODE_CHANCE:
            self._codes ^= {self._rng.choice(CODES)}

    def _position(self) -> tuple[float, float]:
        (a, b), (c, d) = CITIES[self._from], CITIES[self._to]
        share = self._driven / self._miles
        return round(a + (c - a) * share, 6), round(b + (d - b) * share, 6)


class World:
    """``vehicles`` vehicles that report every 30 s of simulated time, evenly staggered."""

    def __init__(self, seed: int = 7, vehicles: int = 60, start_time: float = START_TIME) -> None:
        self.start_time = start_time
        self._vehicles = [Vehicle(seed, number) for number in range(vehicles)]

    @property
    def vins(self) -> tuple[str, ...]:
        return tuple(vehicle.vin for vehicle in self._vehicles)

    def pings(self) -> Iterator[Ping]:
        """All reports, ordered by time."""
        stagger = REPORT_SECONDS / len(self._vehicles)
        due = [(self.start_time + number * stagger, number) for number in range(len(self._vehicles))]
        heapq.heapify(due)
        while True:
            time, number = heapq.heappop(due)
            yield self._vehicles[number].report(time)
            heapq.heappush(due, (time + REPORT_SECONDS, number))


def is_alpha(vin: str) -> bool:
    """Alpha has the vehicles whose VIN ends in an even digit, Beta the others."""
    return int(vin[-1]) % 2 == 0


def miles(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Great-circle distance."""
    (a, b), (c, d) = (tuple(map(math.radians, point)) for point in (one, other))
    h = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * _EARTH_MILES * math.asin(math.sqrt(h))
