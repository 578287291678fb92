"""Draw the dashboard with jobs that run: ``python -m tests.deploy.dashboard FILE.svg``.

A fleet is read for some minutes, its job is updated, another job counts windows and meets late rows, and a third one fails. A
real Prometheus watches. ``make dashboard`` makes the picture of docs/metrics.md with it.
"""

import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pitstop.kit.waiting import wait_until
from pitstop.machine.private import write_private
from pitstop.model.job import JobState
from tests.deploy.scraping import ROOT, panels, running

MINUTES = 6
TOKEN = "of-metrics-alone"
COUNTS = """
import pitstop as ps


@ps.job()
def counts(folder: str) -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, ts timestamp"), name="numbers")
    timed = rows.with_timestamps("ts", allowed_lag="1 second")
    seconds = timed.group_by("vin").window(ps.tumbling("10 seconds")).aggregate("windows", n=ps.count())
    seconds.write_to(ps.sinks.map("counts", key="vin"), name="out")
    return p
"""
DOOMED = """
import pitstop as ps


@ps.job(partitions=1)
def doomed() -> ps.Pipeline:
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(5), name="numbers").filter("raise_error('a row that nobody had thought of') IS NULL").write_to(
        ps.sinks.logger(), name="out"
    )
    return p
"""


def main() -> None:
    sys.path.insert(0, str(ROOT / "examples" / "fleet"))
    from stack import HERE, Stack

    with tempfile.TemporaryDirectory() as name, Stack(Path(name) / "fleet") as stack:
        folder = Path(name)
        write_private(folder / "metrics-token", TOKEN)
        client = stack.start_server(options=("--metrics-token-file", str(folder / "metrics-token")))
        stack.start_simulators()
        with running(folder / "prometheus", stack.url, TOKEN, every="2s") as prometheus:
            (folder / "counts.py").write_text(COUNTS)
            (folder / "doomed.py").write_text(DOOMED)
            (folder / "in").mkdir()
            began = time.monotonic()
            fleet = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="fleet-ingest")
            counts = client.submit(folder / "counts.py", args=[str(folder / "in")], name="counts")
            doomed = client.submit(folder / "doomed.py", name="doomed")
            fleet.wait_started()
            counts.wait_started()
            for second in range(60 * MINUTES):
                now = datetime.now(UTC)
                ages = [0] * (20 + second % 15) + ([60] if second % 20 == 19 else [])
                lines = [f"v{number % 5},{now - timedelta(seconds=age):%Y-%m-%dT%H:%M:%SZ}\n" for number, age in enumerate(ages)]
                with (folder / "in" / "rows.csv").open("a") as rows:
                    rows.writelines(lines)
                if second == 30 * MINUTES:
                    fleet.update(HERE / "ingest_v2.py")
                    fleet.export_snapshot("before-friday")
                wait_until(lambda end=began + second: time.monotonic() >= end, 60)
            client.service.wait_for(doomed.id, (JobState.FAILED,), 60)
            empty = sorted({title for title, query in panels() if not prometheus.values(query)})
            print(
                f"panels without a value now: {', '.join(empty) or 'none'}; rows of counts: {counts.details.progress.input_rows}"
            )
            draw = [ROOT / "build" / "docs-tools" / "bin" / "python", ROOT / "scripts" / "dashboard_picture.py"]
            subprocess.run([*draw, prometheus.url, str(MINUTES), sys.argv[1]], check=True)


if __name__ == "__main__":
    main()
