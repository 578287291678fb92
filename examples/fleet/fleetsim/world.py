"""The simulated world: pure, seeded, endless. The same seed gives the same pings, on any machine at any time."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from fleetsim.cities import CITIES, neighbours
from fleetsim.vin import HIGHEST_NUMBER, make_vin

REPORT_SECONDS = 30.0
MEAN_MPH, DEVIATION_MPH, SLOWEST_MPH = 65.0, 10.0, 5.0
CODES = ("P0010", "P0128", "P0171", "P0101", "P0A0F", "P2210", "U0001")
AIR_BAG = "B0001"
START_TIME = 1_700_000_000.0
_EARTH_MILES = 3958.8
_CODE_CHANCE, _CRASH_CHANCE = 0.02, 0.0002
"""For each report: a code is set or cleared every 25 minutes of simulated time, a crash comes every 42 hours."""
_ROADS = neighbours()


@dataclass(frozen=True)
class Ping:
    """What one vehicle reports: where it is (degrees) and which diagnostic codes are set."""

    vin: str
    latitude: float
    longitude: float
    time: float
    """Seconds since the epoch."""
    obd_codes: tuple[str, ...]


@dataclass(frozen=True)
class Trip:
    """A straight line between two adjacent cities, driven at one speed."""

    origin: str
    destination: str
    miles: float
    mph: float

    def position(self, driven: float) -> tuple[float, float]:
        """Latitude and longitude after so many miles."""
        (a, b), (c, d) = CITIES[self.origin], CITIES[self.destination]
        share = driven / self.miles
        return round(a + (c - a) * share, 6), round(b + (d - b) * share, 6)


class Vehicle:
    """One vehicle; draws only from its own random numbers, so vehicles do not disturb one another."""

    def __init__(self, seed: int, number: int) -> None:
        self._rng = random.Random(f"{seed}/{number}")
        self.vin = make_vin(self._rng, number)
        self._trip = self._trip_from(self._rng.choice(sorted(CITIES)))
        self._driven = self._rng.random() * self._trip.miles
        self._code: str | None = None
        self._crashed = False

    def report(self, time: float) -> Ping:
        """Drive for one report interval and tell where it got to."""
        if not self._crashed:
            self._drive(REPORT_SECONDS / 3600)
            self._trouble()
        latitude, longitude = self._trip.position(self._driven)
        codes = tuple(code for code in (self._code, AIR_BAG if self._crashed else None) if code)
        return Ping(self.vin, latitude, longitude, time, codes)

    def _trip_from(self, city: str) -> Trip:
        destination = self._rng.choice(_ROADS[city])
        mph = max(SLOWEST_MPH, self._rng.gauss(MEAN_MPH, DEVIATION_MPH))
        return Trip(city, destination, miles(CITIES[city], CITIES[destination]), mph)

    def _drive(self, hours: float) -> None:
        while (left := (self._trip.miles - self._driven) / self._trip.mph) <= hours:
            hours -= left
            self._trip, self._driven = self._trip_from(self._trip.destination), 0.0
        self._driven += hours * self._trip.mph

    def _trouble(self) -> None:
        if self._rng.random() < _CRASH_CHANCE:
            self._crashed = True
        elif self._rng.random() < _CODE_CHANCE:
            self._code = None if self._code else self._rng.choice(CODES)


class World:
    """``vehicles`` vehicles (1 .. 1,000,000) that report every 30 s of simulated time, evenly staggered.

    ``start_time``: seconds since the epoch of the first report. Raises ValueError for a number of vehicles that
    the serial number of a VIN cannot tell apart.
    """

    def __init__(self, seed: int = 7, vehicles: int = 60, start_time: float = START_TIME) -> None:
        if not 1 <= vehicles <= HIGHEST_NUMBER + 1:
            raise ValueError(f"A world has 1 to {HIGHEST_NUMBER + 1} vehicles, not {vehicles}.")
        self.seed, self.vehicles, self.start_time = seed, vehicles, start_time

    @property
    def vins(self) -> tuple[str, ...]:
        return tuple(vehicle.vin for vehicle in self._fleet())

    def pings(self) -> Iterator[Ping]:
        """All reports, ordered by time. Each call tells the same story from its beginning."""
        fleet, stagger = self._fleet(), REPORT_SECONDS / self.vehicles
        for turn in itertools.count():
            for number, vehicle in enumerate(fleet):
                yield vehicle.report(self.start_time + turn * REPORT_SECONDS + number * stagger)

    def alpha_pings(self) -> Iterator[Ping]:
        """The reports that provider Alpha has."""
        return (ping for ping in self.pings() if is_alpha(ping.vin))

    def beta_pings(self) -> Iterator[Ping]:
        """The reports that provider Beta has: all others."""
        return (ping for ping in self.pings() if not is_alpha(ping.vin))

    def _fleet(self) -> list[Vehicle]:
        return [Vehicle(self.seed, number) for number in range(self.vehicles)]


def is_alpha(vin: str) -> bool:
    """Alpha has the vehicles whose VIN ends in an even digit, Beta the others."""
    return int(vin[-1]) % 2 == 0


def miles(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Great-circle distance by the haversine formula."""
    (a, b), (c, d) = (tuple(map(math.radians, point)) for point in (one, other))
    h = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * _EARTH_MILES * math.asin(math.sqrt(h))
