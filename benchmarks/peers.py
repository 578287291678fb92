"""``make bench-peers``: the keyed window aggregate of million.py on Spark by hand, Pitstop, Flink and Jet, one after the other.

The same events by the same formula, the same keys, two cores, exactly once. Spark and Pitstop read them from parquet, 500,000 an
epoch; Flink and Jet make them in their own process, and take a snapshot every ten seconds. Writes benchmarks/peers.json and
docs/performance.md.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

import report

HERE = Path(__file__).parent
KEYS = (10_000, 1_000_000, 4_000_000)
HEAP = "-Xmx4g"
JET_NEEDS = (
    *("--add-modules", "java.se", "--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-opens", "java.management/sun.management=ALL-UNNAMED"),
    *("--add-opens", "jdk.management/com.sun.management.internal=ALL-UNNAMED"),
)
FLINK_NEEDS = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
JET_SECONDS, FLINK_ROWS = 30, (5_000_000, 20_000_000)


def rows_per_second(command, expected=0, **environment):
    """What the last line of a program tells; ``expected``: its exit code."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        env=os.environ | {key: str(value) for key, value in environment.items()},
    )
    if done.returncode != expected:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])["rows_per_second"]


def spark(which, keys, store, events):
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, HERE / "million.py", "run", which, folder)
        return rows_per_second(command, -signal.SIGKILL, KEYS=keys, STORE=store, EVENTS=events / str(keys))


def flink(peers, keys, backend):
    classes = f"{peers}/flink/*:{peers}/flink/classes"
    return rows_per_second(("java", HEAP, *FLINK_NEEDS, "-cp", classes, "Flink", keys, backend, *FLINK_ROWS))


def jet(peers, keys):
    classes = f"{peers}/jet/*:{peers}/jet/classes"
    return rows_per_second(("java", HEAP, *JET_NEEDS, "-cp", classes, "Jet", keys, JET_SECONDS))


def measured(peers, keys, events, say):
    """Engine -> rows a second."""
    found = {}
    for name, measure in {
        "Spark, RocksDB": lambda: spark("plain", keys, "rocksdb", events),
        "Pitstop, RocksDB": lambda: spark("pitstop", keys, "rocksdb", events),
        "Pitstop, memory": lambda: spark("pitstop", keys, "memory", events),
        "Flink, RocksDB": lambda: flink(peers, keys, "rocksdb"),
        "Flink, heap": lambda: flink(peers, keys, "hashmap"),
        "Jet, heap": lambda: jet(peers, keys),
    }.items():
        say(f"{keys:,} keys, {name}")
        found[name] = round(measure())
    return found


def main():
    wanted = [int(each) for each in sys.argv[2:]] or KEYS
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as events:
        found = {keys: measured(Path(sys.argv[1]), keys, Path(events), console.print) for keys in wanted}
    file = HERE / "peers.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    kept |= {str(keys): rates for keys, rates in found.items()}
    file.write_text(json.dumps({keys: kept[keys] for keys in sorted(kept, key=int)}, indent=2) + "\n")
    table = Table("rows a second", *(f"{keys:,} keys" for keys in found))
    for name in next(iter(found.values())):
        table.add_row(name, *(f"{found[keys][name]:,}" for keys in found))
    Console().print(table)
    report.write()


if __name__ == "__main__":
    main()
