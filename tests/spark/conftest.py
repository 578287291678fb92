"""One Spark session for all Spark tests, and the table of the compatibility rules that were tried."""

import re
from collections import defaultdict

import pytest

from pitstop.spark.session import build_session
from pitstop.spark.sources import register

RULE = re.compile(r"test_(c\d\d)_(.*)")
tried = pytest.StashKey[dict]()


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = build_session("local[2]", tmp_path_factory.mktemp("spark"), {"spark.sql.shuffle.partitions": "2"})
    register(session)
    yield session
    session.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    found = RULE.match(item.originalname) if item.get_closest_marker("rules") else None
    if found and (report.when == "call" or report.failed):
        rules = item.config.stash.setdefault(tried, defaultdict(list))
        mark = item.get_closest_marker("tried_on")
        rules[found[1].upper()].append((found[2].replace("_", " "), mark.args[0] if mark else "", report.outcome))
    return report


def pytest_terminal_summary(terminalreporter, config):
    rules = config.stash.get(tried, {})
    if not rules:
        return
    terminalreporter.section("compatibility of versions (jet.md §2.3)")
    for rule, cases in sorted(rules.items()):
        result = "holds" if all(outcome == "passed" for _, _, outcome in cases) else "FAILS"
        kinds = ", ".join(dict.fromkeys(kinds for _, kinds, _ in cases))
        terminalreporter.write_line(f"{rule}  {result}  {'; '.join(dict.fromkeys(title for title, _, _ in cases))}  [{kinds}]")
