"""A job that counts by key, and what its files must hold whatever befalls it."""

import json
from collections import Counter

COUNTING = """
import pitstop as ps

@ps.job(snapshot_interval="1 second")
def counting(folder):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(100), name="numbers").with_columns(key="cast(sequence % 10 as string)")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.write_to(ps.sinks.files(folder, format="json"), name="files")
    return p
"""


def lines_of(folder):
    return [json.loads(line) for file in folder.glob("*.json") for line in file.open()]


def assert_exact(folder):
    """Each number is there once, with its key's count."""
    lines = lines_of(folder)
    assert sorted(line["sequence"] for line in lines) == list(range(len(lines))), "nothing missing, nothing doubled"
    counted = Counter(line["key"] for line in lines)
    assert {line["key"]: line["n"] for line in lines if line["n"] == counted[line["key"]]} == dict(counted)
    assert all(line["n"] == line["sequence"] // 10 + 1 for line in lines)
