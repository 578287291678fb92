"""The waits of a first day: check, a first test, submit, update, a query on a snapshot; prints one JSON line.

``python benchmarks/first_day.py``. Commands are those of the shell, with the interpreter's start. The project is that of
``pitstop init``; jobs share the server's engine, as they do by default. Beside them: a cold start of plain PySpark.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from served import serving, wait

ROUNDS, EPOCHS = 5, 20
COMMAND = [sys.executable, "-m", "pitstop.main"]
PLAIN = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(10).count() == 10
"""
EPOCHS_OF_A_TEST = """
import json, time
from datetime import datetime, timedelta
from cars import cars

def test_epochs(job_test):
    test, seconds = job_test(cars, "data", "output"), []
    for number in range({epochs} + 3):
        test.push("cars", [("a", 30.0, datetime(2026, 1, 1) + timedelta(minutes=number))])
        began = time.monotonic()
        test.epoch()
        seconds.append(time.monotonic() - began)
    open("epochs.json", "w").write(json.dumps(seconds[3:]))
"""
ROWS = "".join(
    f"car{number % 100},{number % 90}.5,2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}\n" for number in range(3000)
)


def seconds_of(command, folder, code=0, **environment):
    """Return the seconds that a command takes; it must end with this exit code."""
    began = time.monotonic()
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"} | environment
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.monotonic() - began


def tests(project):
    """Return the seconds of plain PySpark's start, of a first test, and of an epoch of a test after the first three."""
    first = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_cars.py::test_a_minute_is_written_when_it_is_over",
    ]
    pairs = [(seconds_of([sys.executable, "-c", PLAIN], project), seconds_of(first, project)) for _ in range(3)]
    plain, test = map(median, zip(*pairs, strict=True))
    (project / "test_epochs.py").write_text(EPOCHS_OF_A_TEST.format(epochs=EPOCHS))
    seconds_of([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_epochs.py"], project)
    epochs = json.loads((project / "epochs.json").read_text())
    return {"plain": plain, "first_test": test, "epoch_of_a_test": median(epochs)}


def commands(folder, project):
    """Return the seconds of commands, by their names: the median of ROUNDS, but of one submit and one update in each."""
    (project / "typo.py").write_text((project / "cars.py").read_text().replace("with_timestamps", "with_timestamp"))
    (project / "data" / "rows.csv").write_text(ROWS)
    check = [*COMMAND, "check", "cars.py", "data", "output"]
    typo = [*COMMAND, "check", "typo.py", "data", "output"]
    seconds = {
        "check_typo_without_server": [seconds_of([*typo, "--local"], project, 2) for _ in range(ROUNDS)],
        "check_without_server": [seconds_of([*check, "--local"], project) for _ in range(3)],
    }
    seconds |= {"check": [], "check_typo": [], "submit": [], "snapshot_query": [], "update": [], "update_gap": []}
    own = {"PITSTOP_ENGINE": "shared"}
    os.environ |= own
    with serving(folder) as client:
        at = {"PITSTOP_URL": client.service.url}
        seconds_of(check, project, **at)  # the engine has started
        for number in range(ROUNDS):
            name = f"cars{number}"
            output = f"output{number}"
            seconds["check"].append(seconds_of(check, project, **at))
            seconds["check_typo"].append(seconds_of(typo, project, 2, **at))
            seconds["submit"].append(seconds_of([*COMMAND, "submit", "-n", name, "cars.py", "data", output], project, **at))
            job = client.job(name)
            wait(lambda job=job: job.metrics().epoch >= 1, "an epoch")
            seconds_of([*COMMAND, "save-snapshot", name, name], project, **at)
            query = [*COMMAND, "snapshot", "query", name, "speed", "SELECT count(*) FROM state"]
            seconds["snapshot_query"].append(seconds_of(query, project, **at))
            seconds["update"].append(seconds_of([*COMMAND, "update", name, "cars_v2.py"], project, **at))
            seconds["update_gap"].append(client.job(name).details.update_gap_seconds)
            job.cancel()
    return {name: median(values) for name, values in seconds.items()}


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        seconds_of([*COMMAND, "init", "cars"], folder)
        found = tests(folder / "cars")
        print(json.dumps(found | commands(folder, folder / "cars")), flush=True)


if __name__ == "__main__":
    main()
