"""Made-up vehicle identification numbers with a valid check digit (position 9)."""

import random

_VALUES = {str(d): d for d in range(10)} | dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
)
_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def check_digit(vin: str) -> str:
    """The digit (or X) that belongs at position 9 of a 17-character VIN."""
    remainder = sum(_VALUES[c] * w for c, w in zip(vin, _WEIGHTS, strict=True) if w) % 11
    return "X" if remainder == 10 else str(remainder)


def make_vin(rng: random.Random, number: int) -> str:
    """A VIN whose last digit is that of ``number``."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
    body = "".join(rng.choice(letters) for _ in range(8)) + "0" + "".join(rng.choice(letters) for _ in range(3))
    draft = f"{body}{number:05d}"
    return draft[:8] + check_digit(draft) + draft[9:]
