"""What every test has in common: its environment, its place in the order, and the table of the compatibility rules."""

import hashlib
import logging
import os
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.environment import set_environment

pytest_plugins = ["tests.drawing", "pytester"]
HERE = Path(__file__).parent

set_environment()

# pytest keeps the folders of a user's last three runs: many short runs of another checkout would remove those of a long one here.
OWN_TEMPORARY = Path(tempfile.gettempdir(), f"pitstop-{hashlib.sha256(str(HERE).encode()).hexdigest()[:8]}")
OWN_TEMPORARY.mkdir(mode=0o700, exist_ok=True)
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(OWN_TEMPORARY))

# How long an example takes says how busy the machine is, not whether the code is right: benchmarks measure time.
settings.register_profile("pitstop", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pitstop")

# Unconfigured, structlog draws each expected traceback with all its variables, which takes longer than the tests.
structlog.configure(
    processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
    logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
)

RULE = re.compile(r"test_(c\d\d)_(.*)")


FIRST = (
    "e2e/test_update.py", "spark/test_migrations.py", "spark/test_stages.py", "e2e/test_state.py", "spark/test_chains.py",
    "e2e/test_fleet.py", "chaos/test_chaos.py", "spark/rules/test_parameters.py", "spark/test_restore.py",
    "spark/rules/test_identity.py", "e2e/test_story.py", "e2e/test_recorded_folder.py", "e2e/test_readme.py",
    "soak/test_soak.py", "spark", "e2e",
)  # fmt: skip
"""What takes longest begins first, so that no process is left with it alone; whole systems not beside one another."""


@pytest.fixture(autouse=True)
def logging_as_it_was():
    """Sources and servers show their lines in the process that they run in, which may be that of the next test, too."""
    logger = logging.getLogger("pitstop")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate = before[:2]
    logger.setLevel(before[2])


def pytest_collection_modifyitems(items):
    def place(item):
        path = item.path.relative_to(HERE).as_posix()
        return next((number for number, first in enumerate(FIRST) if path.startswith(first)), len(FIRST))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    found = RULE.match(item.originalname) if item.get_closest_marker("rules") else None
    if found:
        mark = item.get_closest_marker("tried_on")
        case = {"rule": found[1].upper(), "title": found[2].replace("_", " "), "kinds": mark.args[0] if mark else ""}
        report.user_properties.append(("compatibility", case))
    return report


def pytest_terminal_summary(terminalreporter):
    rules = defaultdict(list)
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, case in getattr(report, "user_properties", ()):
                if name == "compatibility" and (report.when == "call" or report.failed):
                    rules[case["rule"]].append(case | {"outcome": report.outcome})
    if not rules:
        return
    terminalreporter.section("compatibility of versions")
    for rule, cases in sorted(rules.items()):
        result = "holds" if all(case["outcome"] == "passed" for case in cases) else "FAILS"
        titles, kinds = ("; ".join(dict.fromkeys(case[what] for case in cases)) for what in ("title", "kinds"))
        terminalreporter.write_line(f"{rule}  {result}  {titles}  [{kinds}]")
