"""State that a job in SQL saved with a former release is gone on with: names, aggregates and forms are as they were then."""

import json
import tarfile
from collections import Counter

import pytest

from pitstop.model.report import Verdict
from tests.spark.golden_sql import GOLDEN, Recorded, expected, in_order, read_events

pytestmark = [pytest.mark.spark, pytest.mark.long]

ARCHIVES = sorted(GOLDEN.glob("sql-job-*.tar.gz"))
assert ARCHIVES, "no recorded job in SQL is left: git has them"
FILTERED = ("FROM ordered GROUP BY k", "FROM ordered WHERE v >= 0 GROUP BY k")
RENAMED = (
    ("COUNT(*) AS n\n", "COUNT(*) AS how_many, MAX(v) AS most\n"),
    ("SELECT unix_seconds(w), k, n ", "SELECT unix_seconds(w), k, how_many "),
)


@pytest.mark.parametrize("changed", [False, True], ids=["same", "changed"])
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_job_in_sql_goes_on_from_its_recorded_state(spark, tmp_path, archive, changed):
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    text, before = (tmp_path / "job.sql").read_text(), json.loads((tmp_path / "written.json").read_text())
    for old, new in (FILTERED, *RENAMED) if changed else ():
        assert old in text
        text = text.replace(old, new)
    recorded = Recorded(spark, tmp_path)
    recorded.harness.runs = 1
    recorded.run(text)
    verdicts = Counter(line.verdict for line in recorded.harness.report.lines)
    assert verdicts.keys() <= ({Verdict.RESTORED, Verdict.CONVERTED} if changed else {Verdict.RESTORED}), verdicts
    wanted, written = expected(read_events(tmp_path / "input")), recorded.written()
    for name, rows in wanted.items():
        found = written[name] if name == "totals" else before[name] + written[name]
        assert in_order(found) == in_order(rows), name
        assert written[name], name
