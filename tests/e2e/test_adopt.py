"""The tutorial of docs/adopt.md, run as a reader would: a query of plain Spark becomes a job, and the job is changed."""

import json
import re
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import pytest

from pitstop.kit.waiting import wait_until
from tests.e2e.reading import ROOT, USUAL_URL, blocks_of

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.always, pytest.mark.timeout(900)]

LAST_ORDER, DELAY = 1800, 60


def steps():
    """(language, text) of each block of the tutorial."""
    text = (ROOT / "docs" / "adopt.md").read_text()
    section = re.search(r"^## A tutorial\n(.*?)(?=^## )", text, re.M | re.S)[1]
    return blocks_of(section)


def files_of(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            status = path.stat()
            found[str(path.relative_to(folder))] = (path.read_bytes(), status.st_mtime_ns, status.st_nlink)
    return found


def results(*folders):
    """Window -> its results, all that there are."""
    found = defaultdict(list)
    for path in (path for folder in folders for path in folder.glob("*.json")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            start = datetime.fromisoformat(row["window"]["start"].replace("Z", "+00:00"))
            found[start.minute, row["customer"]].append((row["orders"], row["total"]))
    return found


def expected():
    """By plain Python: each order once, the minutes that the watermark has passed."""
    sums = defaultdict(lambda: [0, 0.0])
    for n in range(LAST_ORDER):
        own = sums[n // 60, f"c{n % 3}"]
        own[0], own[1] = own[0] + 1, own[1] + 5 + n % 7
    watermark = LAST_ORDER - 1 - DELAY
    return {key: [tuple(value)] for key, value in sums.items() if (key[0] + 1) * 60 <= watermark}


def test_the_tutorial(reader):
    answers, before = [], None
    for language, text in steps():
        if language == "python":
            (reader.folder / re.match(r"# (\S+)", text)[1]).write_text(text)
        elif language == "":
            assert pattern(text).fullmatch(answers[-1]), (text, answers[-1])
        for line in text.splitlines() if language == "sh" else ():
            if line == "pitstop serve &":
                before = files_of(reader.folder / "checkpoint")
                reader.serve(line)
                continue
            command = line.replace(USUAL_URL, reader.environment.get("PITSTOP_URL", ""))
            answers.append(reader.run(re.sub(r"^python\b", sys.executable, command)))
    folders = [reader.folder / name for name in ("before", "after")]
    assert wait_until(lambda: results(*folders).keys() >= expected().keys(), 120, step=0.5), results(*folders).keys()
    assert results(*folders) == expected()
    assert results(folders[0]).keys() & results(folders[1]).keys() == set()
    lifetime = json.loads(reader.run("pitstop -o json map entries lifetime"))
    assert len(lifetime) == 3
    assert files_of(reader.folder / "checkpoint") == before


def pattern(shown):
    """What the page shows, in any folder."""
    return re.compile(re.escape(shown).replace(re.escape("/home/you"), r"\S+") + r"\s*", re.S)


def test_the_page_of_the_doctor_and_the_readme_name_the_command():
    for page in ("docs/doctor.md", "README.md", "docs/cli.md"):
        assert "adopt.md" in (Path(ROOT) / page).read_text()
