"""The README's own code and commands, run as a new reader would, in an empty folder."""

import csv
import json
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import httpx2
import pytest

from tests.e2e.reading import ROOT, USUAL_URL, blocks_of

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.always, pytest.mark.timeout(900)]

INSTALL, SERVE = 'make install && export PATH="$PWD/.venv/bin:$PATH"', "pitstop serve &"
PAGE, FOLLOW = "pitstop ui", "pitstop logs -f speeds"
LAG, SLIDE, SIZE = timedelta(seconds=20), timedelta(seconds=15), timedelta(minutes=4)
MIDNIGHT = datetime(2026, 1, 1)


def blocks(title):
    """Return language and text of each block of code below a heading."""
    return blocks_of(re.search(rf"^## {title}\n(.*?)(?=^## )", (ROOT / "README.md").read_text(), re.M | re.S)[1])


def without_comments(line):
    return re.sub(r"\s{2,}# .*", "", line)


def rows(folder):
    with (folder / "cars" / "1.csv").open() as file:
        return [(vin, float(speed), datetime.fromisoformat(time)) for vin, speed, time in csv.reader(file)]


def expected_averages(found):
    """(car, average) of each window that the watermark has passed, by plain Python."""
    windows = defaultdict(list)
    for vin, speed, time in found:
        start = time - (time - MIDNIGHT) % SLIDE
        while start + SIZE > time:
            windows[vin, start].append(speed)
            start -= SLIDE
    watermark = max(time for _, _, time in found) - LAG
    closed = {key: speeds for key, speeds in windows.items() if key[1] + SIZE <= watermark}
    return Counter((vin, round(sum(speeds) / len(speeds), 6)) for (vin, _), speeds in closed.items())


def averages(lines):
    found = (re.search(r"speed (car\d) (\d+\.\d+)", line) for line in lines)
    return Counter((match[1], round(float(match[2]), 6)) for match in found if match)


def pattern(shown):
    """What the README shows, with any numbers, times and widths of columns."""
    parts = re.split(r"(\d[\d.,:T-]*|\s+)", shown)
    return "".join(r"[\d.,:T-]+" if part[:1].isdigit() else r"\s+" if part.isspace() else re.escape(part) for part in parts)


def commands(transcript):
    """(command, what is shown below it) of each line that begins with ``$``."""
    for part in re.split(r"^\$ ", transcript, flags=re.M)[1:]:
        line, _, shown = part.partition("\n")
        yield without_comments(line), shown.strip()


def test_a_new_reader_runs_the_job_and_changes_it(reader):
    (_, code), (_, shell) = blocks("A job of your own")
    (reader.folder / "speeds.py").write_text(code)
    lines = [without_comments(line) for line in shell.splitlines()]
    assert (lines[0], *lines[-2:]) == (INSTALL, PAGE, FOLLOW)
    shown = {}
    for line in lines[1:-2]:
        if line == SERVE:
            reader.serve(line)
        else:
            shown[line] = reader.run(line.replace(USUAL_URL, reader.environment.get("PITSTOP_URL", USUAL_URL)))
    cars = rows(reader.folder)
    expected = expected_averages(cars)
    followed = reader.follow(FOLLOW, lambda found: averages(found).total() >= expected.total())
    assert averages(followed) == expected
    with httpx2.Client(follow_redirects=True) as browser:
        assert '<div id="root">' in browser.get(reader.run(f"{PAGE} --link").strip()).text
    latest = {vin: speed for vin, speed, _ in cars}
    entries = {entry["key"]: entry["value"] for entry in json.loads(reader.run("pitstop -o json map entries latest"))}
    assert {vin: entry["speed"] for vin, entry in entries.items()} == latest
    assert all(vin in reader.run("pitstop map entries latest") for vin in latest)

    ((_, transcript),) = blocks("A change")
    answers = {}
    for line, promised in commands(transcript):
        answers[line] = reader.run(line)
        if promised:
            assert re.search(pattern(promised), answers[line]), answers[line]
    assert any(promised for _, promised in commands(transcript))
    (job,) = json.loads(reader.run("pitstop -o json list-jobs -a"))
    assert (job["name"], job["display_status"], job["updates"]) == ("speeds", "RUNNING", 1)
