"""The page docs/adopt-kafka.md, run as a reader would: a query of plain Spark on a topic becomes a job, which is then changed."""

import json
import re
import sys
from collections import defaultdict
from datetime import datetime

import pytest

from pitstop.kit.waiting import wait_until
from tests.brokers.broker import Broker
from tests.e2e.reading import ROOT, USUAL_URL, blocks_of
from tests.e2e.test_adopt import files_of

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.always, pytest.mark.timeout(1200)]

ORDERS, REPEATED, CHANGED_AT, CUSTOMERS = 100_000, 100, 80_000, 20
WINDOW_MS, DELAY_MS, STEP_MS = 600_000, 600_000, 100
START_MS = 1_767_225_600_000
SERVERS = "localhost:9092"


@pytest.fixture
def broker(tmp_path):
    running = Broker(tmp_path / "kafka")
    running.make("orders", 4)
    yield running
    running.kill()


def blocks():
    return blocks_of((ROOT / "docs" / "adopt-kafka.md").read_text())


def results(folder):
    """(Number of the window, customer) -> its results, all that there are in a folder."""
    found = defaultdict(list)
    for path in folder.glob("*.json"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            start = datetime.fromisoformat(row["window"]["start"].replace("Z", "+00:00"))
            number = (round(start.timestamp() * 1000) - START_MS) // WINDOW_MS
            found[number, row["customer"]].append((row["orders"], row["total"]))
    return found


def expected(orders=ORDERS):
    """By plain Python: each order once, the windows that the watermark has passed."""
    sums = defaultdict(lambda: [0, 0.0])
    for n in range(orders):
        own = sums[n * STEP_MS // WINDOW_MS, f"c{n % CUSTOMERS}"]
        own[0], own[1] = own[0] + 1, own[1] + 5 + n % 7
    watermark = (orders - 1) * STEP_MS - DELAY_MS
    return {key: [tuple(value)] for key, value in sums.items() if (key[0] + 1) * WINDOW_MS <= watermark}


def rows_read(reader):
    return json.loads(reader.run("pitstop -o json status totals"))["progress"]["input_rows"]


def is_shown(text, answer):
    """True if an answer has the lines that the page shows, in any folder."""
    shown = re.escape(text.rstrip()).replace(re.escape("/home/you"), r"\S+").replace(re.escape("..."), ".*")
    return re.search(shown, answer) is not None


def test_the_tutorial(reader, broker):
    answer, before = "", None
    for language, text in blocks():
        here = text.replace(SERVERS, broker.servers)
        if language == "python":
            (reader.folder / re.match(r"# (\S+)", text)[1]).write_text(here)
        elif language == "":
            assert is_shown(here, answer), (text, answer)
        for line in here.splitlines() if language == "sh" else ():
            if line.startswith("docker "):  # the topic is there
                continue
            if line == "pitstop serve &":
                before = files_of(reader.folder / "checkpoint")
                assert results(reader.folder / "before") == expected(60_000)
                reader.serve(line)
                continue
            if line.startswith("pitstop update"):
                # The page's reader takes a while to read it: what the new stage counts then is known.
                assert wait_until(lambda: rows_read(reader) == CHANGED_AT - 60_000 + REPEATED, 300, step=1)
            if line.startswith("pitstop map get"):
                assert wait_until(lambda: lifetimes(reader) == ORDERS - CHANGED_AT, 300, step=1)
            command = line.replace(USUAL_URL, reader.environment.get("PITSTOP_URL", ""))
            answer = reader.run(re.sub(r"^python\b", sys.executable, command))
    old, new = reader.folder / "before", reader.folder / "after"
    assert wait_until(lambda: results(old).keys() | results(new).keys() >= expected().keys(), 200, step=1), results(new).keys()
    assert results(old).keys() & results(new).keys() == set()
    assert results(old) | results(new) == expected()
    entries = json.loads(reader.run("pitstop -o json map entries lifetime"))
    assert len(entries) == CUSTOMERS
    assert files_of(reader.folder / "checkpoint") == before


def lifetimes(reader):
    """The sum of the new stage's counts; 0 as long as its map is not there."""
    if "lifetime" not in reader.run("pitstop -o name map list"):
        return 0
    return sum(entry["value"]["n"] for entry in json.loads(reader.run("pitstop -o json map entries lifetime")))
