"""Vehicle identification numbers."""

import random
import re

import pytest
from fleetsim.vin import check_digit, make_vin


@pytest.mark.parametrize(
    "vin",
    [
        "1M8GDM9AXKP042788",  # the usual worked example, with remainder ten
        "11111111111111111",  # all ones: every weight counted once
        "5GZCZ43D13S812715",
    ],
)
def test_the_check_digit_of_known_numbers_is_the_one_they_carry(vin):
    assert check_digit(vin) == vin[8]


@pytest.mark.parametrize("position", [position for position in range(17) if position != 8])
def test_one_mistyped_digit_changes_the_check_digit(position):
    vin = "11111111111111111"
    assert check_digit(vin[:position] + "2" + vin[position + 1 :]) != check_digit(vin)


def test_made_numbers_are_well_formed_and_carry_their_check_digit():
    for number in range(2000):
        vin = make_vin(random.Random(number), number)
        assert re.fullmatch(r"[A-HJ-NPR-Z0-9]{8}[0-9X][A-HJ-NPR-TV-Y1-9][A-HJ-NPR-Z0-9]\d{6}", vin)
        assert vin[8] == check_digit(vin)


def test_the_number_of_the_vehicle_ends_its_vin():
    assert make_vin(random.Random(1), 42).endswith("000042")
    assert make_vin(random.Random(1), 999_999).endswith("999999")


def test_numbers_that_differ_make_vins_that_differ_whatever_the_random_numbers():
    assert len({make_vin(random.Random(1), number) for number in range(1000)}) == 1000
