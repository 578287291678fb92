"""A query that ends between two epochs, as it shall, leaves no error in the logs; one that fails does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PROGRAM = """
import sys
from pathlib import Path
import pitstop as ps
from pitstop.kit.waiting import wait_until

folder, seen = Path(sys.argv[1]), []
(folder / "table.csv").write_text("1,before\\n")
(folder / "in").mkdir()
p = ps.Pipeline()
side = p.read_from(ps.sources.files(folder / "table.csv", "csv", schema="one bigint, name string"), name="side")
rows = p.read_from(ps.sources.files(folder / "in", "json", schema="one bigint", streaming=True), name="rows")

class Seen:
    def write(self, rows, epoch):
        seen.extend(row.name for row in rows.collect())
        if "fails" in seen:
            raise RuntimeError("this sink fails")

rows.hash_join(side, on="one", refresh="1 second").write_to(ps.sinks.custom(Seen()), name="out")
job = ps.run(p, data_dir=folder / "data")
for number, name in enumerate(("before", "after", "fails")):
    (folder / "table.csv").write_text(f"1,{name}\\n")
    assert not number or wait_until(lambda: job._run._refresh._is_due, 60)
    (folder / "in" / name).write_text('{"one": 1}\\n')
    assert wait_until(lambda: len(seen) > number, 60), seen
assert wait_until(lambda: not job.active, 60)
print(seen)
"""


@pytest.mark.always
def test_a_query_that_gets_other_tables_logs_no_error_and_one_that_fails_logs_its_own(tmp_path):
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    program = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=250, cwd=Path(__file__).parents[3])
    assert program.stdout.splitlines()[-1] == "['before', 'after', 'fails']", program.stderr
    assert "EpochBoundaryError" not in program.stderr
    assert "main ERROR" not in program.stderr, "log4j takes all settings"
    assert "this sink fails" in program.stderr
