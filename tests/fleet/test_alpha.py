"""Provider Alpha, as a process that writes files."""

import itertools
import json
import signal
from collections import defaultdict

import pytest
from fleetsim.alpha import line
from fleetsim.world import World

from .conftest import until


def expected(count, **options):
    """VIN -> (latitude, longitude, time) of Alpha's first pings, in order."""
    found = defaultdict(list)
    for ping in itertools.islice(World(**options).alpha_pings(), count):
        found[ping.vin].append((ping.latitude, ping.longitude, ping.time))
    return dict(found)


def written(folder):
    """The same from the files; every line must be whole."""
    found = defaultdict(list)
    for path in folder.iterdir():
        text = path.read_text()
        assert text.endswith("\n")
        for vin, *numbers in (row.split(",") for row in text.splitlines()):
            assert path.name == f"{vin}.csv"
            found[vin].append(tuple(map(float, numbers)))
    return dict(found)


def lines(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.csv"))


@pytest.mark.parametrize("torn", [(), ("--torn",)])
def test_the_files_hold_exactly_the_pings_of_the_seed(simulate, tmp_path, torn):
    alpha = simulate("alpha", "--dir", tmp_path / "a", "--seed", 5, "--speedup", 3000, "--until-pings", 1000, *torn)
    assert alpha.ended() == (0, [{"simulator": "alpha", "pings": 1000}], "")
    assert written(tmp_path / "a") == expected(1000, seed=5)


def test_the_start_time_is_that_of_the_first_ping(simulate, tmp_path):
    start = ("--start-time", 1234.5, "--until-pings", 90)
    simulate("alpha", "--dir", tmp_path, "--seed", 5, "--speedup", 3000, *start).ended()
    assert written(tmp_path) == expected(90, seed=5, start_time=1234.5)
    assert min(time for rows in written(tmp_path).values() for _, _, time in rows) == 1234.5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("torn", [(), ("--torn",)])
def test_a_signal_ends_it_after_a_whole_line_and_it_tells_its_count(simulate, tmp_path, number, torn):
    alpha = simulate("alpha", "--dir", tmp_path, "--seed", 5, "--speedup", 600, *torn)
    until(lambda: lines(tmp_path) > 100, "the first hundred lines")
    alpha.signal(number)
    code, told, errors = alpha.ended()
    assert (code, errors) == (0, "")
    assert told == [{"simulator": "alpha", "pings": lines(tmp_path)}]
    assert written(tmp_path) == expected(lines(tmp_path), seed=5)


def test_a_signal_ends_it_although_the_next_ping_is_hours_away(simulate, tmp_path):
    alpha = simulate("alpha", "--dir", tmp_path, "--speedup", 0.0001)
    until(lambda: lines(tmp_path) == 1, "the first line")
    alpha.signal(signal.SIGTERM)
    assert alpha.ended() == (0, [{"simulator": "alpha", "pings": 1}], "")


def test_torn_lines_can_be_seen_without_their_newline(simulate, tmp_path):
    simulate("alpha", "--dir", tmp_path, "--speedup", 30, "--torn")

    def tail():
        return next((data for path in tmp_path.glob("*.csv") if not (data := path.read_bytes()).endswith(b"\n")), None)

    rest = until(tail, "a line without newline").rpartition(b"\n")[2]
    whole = {line(ping).encode() for ping in itertools.islice(World().alpha_pings(), 10_000)}
    assert any(candidate.startswith(rest) for candidate in whole)


def test_without_tearing_no_line_is_ever_seen_without_its_newline(simulate, tmp_path):
    alpha = simulate("alpha", "--dir", tmp_path, "--speedup", 600, "--until-pings", 600)
    while alpha.running:
        assert all(path.read_bytes()[-1:] in (b"\n", b"") for path in tmp_path.glob("*.csv"))
    assert lines(tmp_path) == 600


def test_a_frozen_world_makes_no_more_pings_until_it_is_ended(simulate, tmp_path):
    alpha = simulate("alpha", "--dir", tmp_path, "--speedup", 30, "--torn", "--until-pings", 10_000)
    until(lambda: lines(tmp_path) > 10, "ten lines")
    alpha.signal(signal.SIGUSR1)
    assert alpha.line() == {"simulator": "alpha", "frozen": True, "pings": lines(tmp_path)}
    assert alpha.running
    alpha.signal(signal.SIGTERM)
    assert alpha.ended() == (0, [{"simulator": "alpha", "pings": lines(tmp_path)}], "")
    assert written(tmp_path) == expected(lines(tmp_path))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--speedup", "0"), "argument --speedup: must be above 0, not '0'"),
        (("--speedup", "nan"), "argument --speedup: must be a number, not 'nan'"),
        (("--until-pings", "0"), "argument --until-pings: must be a whole number above 0, not '0'"),
        (("--start-time", "inf"), "argument --start-time: must be a number, not 'inf'"),
    ],
)
def test_a_wrong_option_is_refused_with_a_sentence(simulate, tmp_path, options, sentence):
    code, told, errors = simulate("alpha", "--dir", tmp_path, *options).ended()
    assert (code, told) == (2, [])
    assert sentence in errors


@pytest.mark.parametrize("seed", range(20))
def test_a_line_parses_back_to_equal_numbers(seed):
    for ping in itertools.islice(World(seed, start_time=0.1).pings(), 300):
        vin, latitude, longitude, time = line(ping).rstrip("\n").split(",")
        assert (vin, float(latitude), float(longitude), float(time)) == (ping.vin, ping.latitude, ping.longitude, ping.time)
        assert json.loads(time) == ping.time
