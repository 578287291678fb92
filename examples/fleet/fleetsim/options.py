"""How both simulators are told what to do, so that they play the same world, and how they tell what they did."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from fleetsim.world import START_TIME


def simulator_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with ``--seed``, ``--speedup`` and ``--start-time``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same pings (default: 7)")
    parser.add_argument(
        "--speedup",
        type=positive_number,
        default=30.0,
        help="simulated seconds a second (default: 30, or 60 pings a second in all)",
    )
    parser.add_argument(
        "--start-time",
        type=finite_number,
        default=START_TIME,
        help=f"of the first ping, seconds since the epoch (default: {START_TIME:.0f})",
    )
    return parser


def say(simulator: str, **facts: Any) -> None:
    """One line of JSON on stdout."""
    print(json.dumps({"simulator": simulator} | facts), flush=True)


def finite_number(text: str) -> float:
    """A number that is neither infinite nor NaN."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}")
    return number


def positive_number(text: str) -> float:
    """A number above zero."""
    number = finite_number(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text!r}")
    return number


def positive_count(text: str) -> int:
    """A whole number of at least one."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return int(text)
