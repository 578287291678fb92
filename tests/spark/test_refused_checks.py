"""A version that a check refuses is its author's mistake, never a fault of the server: HTTP answers 4xx, with the sentence."""

import pytest

from pitstop.errors import all_errors
from pitstop.model.job import JobSource
from pitstop.model.process_folders import WorkerFolder
from pitstop.model.task import Compile
from pitstop.runner.worker_tasks import answer, compile_version

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

JOB = """
import pitstop as ps
from pyspark.sql import functions as F

@ps.job()
def cars() -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(10), name="rows")
    {line}
    return p
"""
SINK = ".write_to(ps.sinks.noop(), name='out')"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"rows.filter('sped > 3'){SINK}", "there is no column 'sped'"),
        (f"rows.filter('speed >'){SINK}", "cannot read the expression"),
        (f"rows.filter(F.col('sped') > 3){SINK}", "sped"),
        (f"rows.with_columns(x='no_such_function(sequence)'){SINK}", "no_such_function"),
        (f"rows.with_columns(x=F.expr('sequence +')){SINK}", "cannot read the expression"),
        (f"rows.with_columns(x='time + sequence'){SINK}", "x"),
        (f"rows.transform(lambda df: df.select('nothing')){SINK}", "nothing"),
        (f"rows.transform(lambda df: 1 / 0){SINK}", "division by zero"),
        (f"rows.transform(lambda df: df.groupBy('sequence').count()){SINK}", "Stage 'transform'"),
        (f"rows.group_by('sequence').map_stateful('s', lambda s, r: r, state='n bgint', output='x int'){SINK}", "bgint"),
        (f"rows.group_by('sequence').rolling_aggregate('a', total=ps.sum('time')){SINK}", "time"),
        ("rows.write_to(ps.sinks.files('/proc/out'), name='out')\n    raise RuntimeError('no day')", "no day"),
        ("import no_such_package", "no_such_package"),
        ("return 7", "Pipeline"),
        ("pass", "sink"),
    ],
)
def test_what_is_wrong_with_a_version_is_no_fault_of_the_server(spark, tmp_path, monkeypatch, line, sentence):
    # The session that all tests share cannot forget a file.
    monkeypatch.setattr("pitstop.runner.prepared.send_artifact", lambda *_: None)
    (tmp_path / "job.py").write_text(JOB.format(line=line))
    folder = WorkerFolder(tmp_path / "worker")
    task = Compile(JobSource(str(tmp_path / "job.py")), {})
    error = answer(lambda task: compile_version(task, folder, lambda: spark), task)["error"]
    assert sentence in error["message"]
    assert 400 <= all_errors()[error["code"]].http_status < 500, error
