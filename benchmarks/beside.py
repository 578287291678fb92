"""``make bench-beside BEFORE=FOLDER``: this checkout and another one, with its own ``.venv``, measured in turns in one run.

Whatever else the machine does meets both, so that the ratio is about the code. Prints a table: the best of the rounds of each,
and how many times as good this checkout is (above 1: faster). Plain Spark is not measured: ``make bench`` does that. Writes
benchmarks/beside.json and, from it, docs/performance.md.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

import report

HERE = Path(__file__).parents[1]
ROUNDS = int(os.environ.get("ROUNDS", "2"))


@dataclass(frozen=True)
class Checkout:
    """One of the two: its folder, and what it measured: name of the figure → a value for each round."""

    folder: Path
    found: dict[str, list[float]] = field(default_factory=dict)

    def run(self, script, *arguments, killed=False, **environment):
        """The JSON line that one of its benchmark scripts prints; ``killed``: the script ends itself by SIGKILL."""
        benchmarks = self.folder / "benchmarks"
        # A script that only this checkout has is given as a whole path, which ``/`` leaves as it is.
        command = [self.folder / ".venv/bin/python", benchmarks / script, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=benchmarks, start_new_session=True, env=os.environ | environment
        )
        if done.returncode != (-signal.SIGKILL if killed else 0):
            raise SystemExit(f"{benchmarks / script} {' '.join(map(str, arguments))} failed:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def commit(self):
        """Its short name. Asked for before anything is measured: a folder that is no checkout is not found out hours later."""
        command = ["git", "-C", str(self.folder), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.folder} is no checkout of this repository: clone it there, and check the commit out.")
        return done.stdout.strip()

    def note(self, **figures):
        for name, value in figures.items():
            self.found.setdefault(name, []).append(value)


def map_sink(checkout, folder):
    checkout.note(map_upserts_per_second=checkout.run("one.py", "map-sink")["upserts_per_second"])


def export(checkout, folder):
    found = checkout.run("one.py", "export")
    checkout.note(export_seconds=found["export_seconds"], epoch_of_million_keys_seconds=found["usual_epoch_seconds"])


def sliding(checkout, folder):
    checkout.note(sliding_rows_per_second=checkout.run("sliding.py", "pitstop")["rows_per_second"])


def million(checkout, folder):
    events = str(folder / "events")
    with tempfile.TemporaryDirectory(dir=folder) as data:
        own = Path(data)
        ran = checkout.run("million.py", "run", "pitstop", own, killed=True, EVENTS=events)
        again = checkout.run("million.py", "restart", "pitstop", own, EVENTS=events)
        checkout.note(million_keys_rows_per_second=ran["rows_per_second"], million_keys_restart_seconds=again["seconds"])
        for which in ("same", "changed"):
            found = checkout.run("million.py", "restore", which, own, EVENTS=events)
            checkout.note(**{f"restore_{which}_structure_seconds": found["seconds"]})
        found = checkout.run("million.py", "served", own / "served", EVENTS=events)
        checkout.note(served_restart_seconds=found["restart"], served_changed_structure_seconds=found["changed"])


def update_gap(checkout, folder):
    found = checkout.run("update_gap.py")
    checkout.note(update_gap_same_seconds=found["same"], update_gap_changed_seconds=found["changed"])


def served(checkout, folder):
    checkout.note(**checkout.run(HERE / "benchmarks" / "served.py"))


MEASURES = {measure.__name__: measure for measure in (map_sink, export, sliding, million, update_gap, served)}


def main():
    """``beside.py FOLDER [MEASURE ...]``."""
    console, before, after = Console(), Checkout(Path(sys.argv[1]).resolve()), Checkout(HERE)
    commit = before.commit()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            for name in sys.argv[2:] or MEASURES:
                for checkout in (before, after):
                    console.print(f"[dim]{name}, round {number + 1} of {ROUNDS}, {checkout.folder} ...[/dim]")
                    MEASURES[name](checkout, Path(folder))
                    console.print({figure: values[-1] for figure, values in checkout.found.items()})
    file = HERE / "benchmarks" / "beside.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    figures = kept["figures"] if kept.get("commit") == commit else {}
    figures |= {name: best_of(name, values, after.found[name]) for name, values in before.found.items()}
    file.write_text(json.dumps({"commit": commit, "figures": figures}, indent=2) + "\n")
    table = Table("figure", "before", "after", "as good")
    for name, row in figures.items():
        table.add_row(name, f"{row['before']:,.3f}", f"{row['after']:,.3f}", f"{row['as_good']:.2f}")
    console.print(table)
    report.write()


def best_of(name, before, after):
    """The best of the rounds of each, and how many times as good the second is."""
    more_is_better = name.endswith("per_second")
    old, new = (max(each) if more_is_better else min(each) for each in (before, after))
    return {"before": old, "after": new, "as_good": new / old if more_is_better else old / new}


if __name__ == "__main__":
    main()
