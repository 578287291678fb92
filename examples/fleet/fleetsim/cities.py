"""Cities of the central United States (latitude, longitude) and the roads between them."""

CITIES: dict[str, tuple[float, float]] = {
    "Minneapolis": (44.98, -93.27), "Fargo": (46.88, -96.79), "Sioux Falls": (43.55, -96.73),
    "Des Moines": (41.59, -93.62), "Omaha": (41.26, -95.94), "Lincoln": (40.81, -96.68),
    "Kansas City": (39.10, -94.58), "Topeka": (39.05, -95.68), "Wichita": (37.69, -97.34),
    "St. Louis": (38.63, -90.20), "Springfield MO": (37.21, -93.29), "Columbia MO": (38.95, -92.33),
    "Chicago": (41.88, -87.63), "Milwaukee": (43.04, -87.91), "Madison": (43.07, -89.40),
    "Davenport": (41.52, -90.58), "Springfield IL": (39.78, -89.65), "Indianapolis": (39.77, -86.16),
    "Louisville": (38.25, -85.76), "Nashville": (36.16, -86.78), "Memphis": (35.15, -90.05),
    "Little Rock": (34.75, -92.29), "Tulsa": (36.15, -95.99), "Oklahoma City": (35.47, -97.52),
    "Dallas": (32.78, -96.80), "Amarillo": (35.20, -101.83), "Denver": (39.74, -104.99),
    "Rapid City": (44.08, -103.23), "Bismarck": (46.81, -100.78), "Duluth": (46.79, -92.10),
}  # fmt: skip

ROADS: tuple[tuple[str, str], ...] = (
    ("Minneapolis", "Fargo"), ("Minneapolis", "Duluth"), ("Minneapolis", "Sioux Falls"), ("Minneapolis", "Des Moines"),
    ("Minneapolis", "Madison"), ("Fargo", "Bismarck"), ("Fargo", "Sioux Falls"), ("Bismarck", "Rapid City"),
    ("Rapid City", "Sioux Falls"), ("Rapid City", "Denver"), ("Sioux Falls", "Omaha"), ("Sioux Falls", "Des Moines"),
    ("Omaha", "Des Moines"), ("Omaha", "Lincoln"), ("Omaha", "Kansas City"), ("Lincoln", "Denver"),
    ("Lincoln", "Topeka"), ("Des Moines", "Kansas City"), ("Des Moines", "Davenport"), ("Kansas City", "Topeka"),
    ("Kansas City", "Columbia MO"), ("Kansas City", "Springfield MO"), ("Topeka", "Wichita"), ("Topeka", "Denver"),
    ("Wichita", "Oklahoma City"), ("Wichita", "Tulsa"), ("Columbia MO", "St. Louis"), ("St. Louis", "Springfield IL"),
    ("St. Louis", "Springfield MO"), ("St. Louis", "Indianapolis"), ("St. Louis", "Louisville"), ("St. Louis", "Memphis"),
    ("Springfield MO", "Tulsa"), ("Springfield MO", "Little Rock"), ("Chicago", "Milwaukee"), ("Chicago", "Madison"),
    ("Chicago", "Davenport"), ("Chicago", "Springfield IL"), ("Chicago", "Indianapolis"), ("Milwaukee", "Madison"),
    ("Davenport", "Springfield IL"), ("Indianapolis", "Louisville"), ("Louisville", "Nashville"), ("Nashville", "Memphis"),
    ("Memphis", "Little Rock"), ("Little Rock", "Dallas"), ("Tulsa", "Oklahoma City"), ("Oklahoma City", "Dallas"),
    ("Oklahoma City", "Amarillo"), ("Dallas", "Amarillo"), ("Amarillo", "Denver"), ("Duluth", "Fargo"),
)  # fmt: skip


def neighbours() -> dict[str, tuple[str, ...]]:
    """City -> the cities that a road leads to, in alphabetical order."""
    found: dict[str, set[str]] = {city: set() for city in CITIES}
    for one, other in ROADS:
        found[one].add(other)
        found[other].add(one)
    return {city: tuple(sorted(others)) for city, others in found.items()}
