"""Made-up vehicle identification numbers with a valid check digit (position 9, 49 CFR 565.15)."""

import random

HIGHEST_NUMBER = 999_999
"""The last six characters of a VIN are its serial number; here they number the vehicle."""

_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"  # I, O and Q are never used: they look like 1 and 0
_VALUES = {str(digit): digit for digit in range(10)} | dict(
    zip(_LETTERS, (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
)
_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_ANY = _LETTERS + "0123456789"
_MODEL_YEARS = "ABCDEFGHJKLMNPRSTVWXY123456789"


def check_digit(vin: str) -> str:
    """The digit (or X for ten) that belongs at position 9 of a 17-character VIN, whatever stands there now."""
    remainder = sum(_VALUES[character] * weight for character, weight in zip(vin, _WEIGHTS, strict=True)) % 11
    return "X" if remainder == 10 else str(remainder)


def make_vin(rng: random.Random, number: int) -> str:
    """A VIN that ends in ``number`` (0 .. 999,999), so numbers that differ make VINs that differ."""
    described = "".join(rng.choice(_ANY) for _ in range(8))
    draft = f"{described}0{rng.choice(_MODEL_YEARS)}{rng.choice(_ANY)}{number:06d}"
    return draft[:8] + check_digit(draft) + draft[9:]
