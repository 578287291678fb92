"""``make test-security``: random attacks at both doors for so many minutes, each round on a service of its own."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import structlog

from tests.security.strike import striking

STEPS = 2_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.security")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    end, seed, answers = time.monotonic() + 60 * options.minutes, options.seed, Counter[str]()
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder, striking(Path(folder), seed) as strike:
            for _ in range(STEPS):
                if time.monotonic() > end:
                    break
                strike.step()
        print(f"seed {seed}: {strike.answers.total()} attacks came to nothing", flush=True)
        answers += strike.answers
        seed += 1
    print(f"{answers.total()} attacks, answers: {dict(sorted(answers.items()))}")
    return 0


sys.exit(main())
