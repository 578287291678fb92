"""The metrics of a real server whose job runs on Spark and is updated."""

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pitstop.machine.private import write_private
from tests.deploy.scraping import names

SECONDS = 300
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps


@ps.job()
def counts(folder: str) -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, ts timestamp"), name="numbers")
    timed = rows.with_timestamps("ts", allowed_lag="1 second")
    minutes = timed.group_by("vin").window(ps.tumbling("1 minute")).aggregate("minutes", n=ps.count())
    minutes.write_to(ps.sinks.map("counts", key="vin"), name="out")
    return p
"""


def test_all_that_rules_and_dashboard_name_is_there_of_a_job_that_was_updated(stack, tmp_path):
    from stack import wait_until

    write_private(tmp_path / "metrics-token", "of-metrics-alone")
    (tmp_path / "counts.py").write_text(JOB)
    folder = tmp_path / "in"
    folder.mkdir()

    def write(name, *minutes):
        (folder / name).write_text("".join(f"a,2026-01-01T00:{minute:02}:00Z\n" for minute in minutes))

    write("1.csv", 0, 5, 1)
    client = stack.start_server(options=("--metrics-token-file", str(tmp_path / "metrics-token")))

    def told():
        request = urllib.request.Request(f"{stack.url}/metrics", headers={"Authorization": "Bearer of-metrics-alone"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        return [sample for family in families for sample in family.samples]

    def value(name, **labels):
        found = [each.value for each in told() if each.name == name and labels.items() <= each.labels.items()]
        return found[0] if found else None

    job = client.submit(tmp_path / "counts.py", name="counts", args=[str(folder)])
    job.wait_started(SECONDS)
    wait_until(lambda: value("pitstop_job_rows_total", fate="read") == 3, SECONDS, "the first file is read")
    job.update(tmp_path / "counts.py")
    write("2.csv", 2, 30)
    wait_until(lambda: value("pitstop_job_rows_total", fate="read") == 5, SECONDS, "the new version reads the second")
    wait_until(lambda: value("pitstop_map_entries", map="counts") == 1, SECONDS, "a window is in the map")
    job.export_snapshot("kept")
    assert value("pitstop_job_status", job="counts", status="RUNNING") == 1
    assert value("pitstop_job_restarts_total", cause="update") == 1
    assert value("pitstop_job_updates_total", outcome="done") == 1
    assert value("pitstop_job_update_gap_seconds") > 0
    assert 0 <= value("pitstop_job_seconds_since_epoch") < SECONDS
    assert value("pitstop_job_rows_total", fate="late") >= 1
    assert value("pitstop_source_lag", stage="numbers", unit="bytes") == 0
    assert names() - {sample.name for sample in told()} == set()
    job.cancel()
    wait_until(lambda: value("pitstop_job_status", job="counts", status="CANCELLED") == 1, 60, "it is cancelled")
    assert value("pitstop_job_status", job="counts", status="FAILED") is None
