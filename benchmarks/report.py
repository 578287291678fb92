"""Write docs/performance.md out of what was measured. ``python benchmarks/report.py``

benchmarks/results.json is of ``make bench``, peers.json of ``make bench-peers`` and beside.json of ``make bench-beside``;
earlier.json holds figures that were measured before, with the commit of each.
"""

import json
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
BY_HAND = "Spark, RocksDB"

HEAD = """# How fast it is

Written by `make bench-peers` and `make bench` on a machine of two cores and 24 GB without a disk of its own, one measurement
after the other and nothing beside them. Figures of another machine are others; ratios are of one run. A row is of the last time
that it was measured, not all are of one commit: `git log -S` tells which.

## Beside Spark by hand, Flink and Jet

The same events by one formula, (key, value, time), the same keys, count, sum and maximum of a window that all events are in, so
that every key stays in state; two cores, exactly once. Spark and Pitstop read the events from parquet, 500,000 an epoch; Flink
2.3 and Jet 5.5 make them in their own process, and take a snapshot every ten seconds. Spark by hand has RocksDB with changelogs,
and Spark's defaults for the rest.
"""

WHY = """
What each does better: Jet and Flink hand each event on as it comes, in one process, so they have no epochs to pay for, and Jet
keeps objects where Spark keeps rows of bytes. Pitstop has what Spark has: SQL's types and functions, its sources and formats, any
plan that its optimizer can make, and state that is on disk when it does not fit into memory, under names that outlive the code.
"""

QUERIES = """
## NEXMark

The queries of [examples/nexmark](../examples/nexmark) over 500,000 events an epoch of parquet, exactly once, two cores, with the
options that a server's job has by itself: state is in memory, but that of q3 and of joins on disk, where alone a changed version
can take it over. By hand: Spark's own SQL with RocksDB. It has no form for q4 and q6 on a stream; these go on from q9's join of
each bid with its auction, and cost what that does.

| query | events a second | by hand | over it |
|---|---|---|---|
"""

BEFORE = """
## Before and after

Before has its commit in brackets. "In turns": `make bench-beside`, both in one run, the best of its rounds; the others were
measured before in a run of their own, perhaps at another speed of the machine. A million keys are in memory in both. Of what is
in seconds, ms, bytes or MB less is better.

| measured | before | after | times as good |
|---|---|---|---|
"""

OWN = """
## What else is measured

`make bench` measures these, `make bench MEASURES="million sql"` some of them. An aim that is missed says so.

| measured | value | aim | how |
|---|---|---|---|
"""
LIMITS = """
## What stands in the way of what is missed

- **An epoch and put → result**: of an idle epoch of 101 ms 79 are Spark's planning and its jobs. An event waits for the epoch
  that is under way, and then for its own.
- **A start** takes what Spark by hand takes: a JVM, Spark's session, and the compiled code of a first epoch. A shared archive of
  classes and a warm spare take off what can be done before; a runner that shared its JVM with others would not isolate them.
- **Memory**: the heap of 2 GB, which Java fills before it collects, Spark's own classes and code, and Python with Arrow. Other
  collectors and smaller heaps gave less memory and less speed: the serial one 10 to 18 % less with a million keys.
- **16 million keys** are in no cache: an epoch reads each of its keys from files, a second time only to count rows of state.
- **Small state on disk** costs what it costs Spark by hand: samples of both JVMs show the same operators with about the same
  shares, and single turns gave 0.85 to 1.32. What a job has by itself (`state_store` auto) keeps such state in memory.
- **The gap of an update** is a first epoch and little more. Of 0.92 s with the same structure the save took 0.10, handing the
  job over 0.07, the restore 0.08 and the first epoch 0.68; of 1.57 s with a stage more 0.08, 0.05, 0.45 and 1.0. That epoch
  cannot begin earlier: it reads the state that the old version's last one writes, from the offset at which that ends.
"""
NEXMARK, AGAINST = "nexmark_", "_vs_plain"


def nexmark(results):
    """A row for each query that was measured; nothing if none was."""
    if not any(row["name"].startswith(NEXMARK) for row in results):
        return
    yield QUERIES.rstrip("\n")
    rows = {row["name"]: row for row in results}
    measured = [name for name in rows if name.startswith(NEXMARK) and not name.endswith(AGAINST)]
    for name in sorted(measured, key=lambda each: int(each.removeprefix(f"{NEXMARK}q"))):
        row, ratio = rows[name], rows.get(name + AGAINST)
        against = f"{row['value'] / ratio['value']:,.0f} | {ratio['value']:.2f}" if ratio else "- | -"
        yield f"| {name.removeprefix(NEXMARK)} | {row['value']:,.0f} | {against} |"


def beside(peers):
    """The table of the engines, their ratios to Spark by hand, and a chart for each number of keys."""
    counts = list(peers)
    yield "| rows a second | " + " | ".join(f"{int(keys):,} keys" for keys in counts) + " |"
    yield "|---|" + "---|" * len(counts)
    for name in peers[counts[0]]:
        cells = (f"{peers[keys][name]:,} ({peers[keys][name] / peers[keys][BY_HAND]:.2f})" for keys in counts)
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""
    yield "In brackets: over Spark by hand."
    for keys in counts:
        yield from ("", "```mermaid", "xychart-beta", f'    title "{int(keys):,} keys: thousands of rows a second"')
        yield "    x-axis [" + ", ".join(f'"{name}"' for name in peers[keys]) + "]"
        yield "    bar [" + ", ".join(str(round(rate / 1000)) for rate in peers[keys].values()) + "]"
        yield "```"


def short(value):
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def before(beside, earlier, results):
    """A row for each figure that is known of two commits."""
    yield BEFORE.rstrip("\n")
    for name, row in beside.get("figures", {}).items():
        old = f"{short(row['before'])} ({beside['commit']}, in turns)"
        yield f"| {name.replace('_', ' ')} | {old} | {short(row['after'])} | {row['as_good']:.2f} |"
    now = {row["name"]: row for row in results}
    for name, row in ((name, row) for name, row in earlier.items() if name in now):
        old, new, unit = row["value"], now[name]["value"], now[name]["unit"]
        yield f"| {name.replace('_', ' ')}, {unit} | {short(old)} ({row['commit']}) | {short(new)} | {old / new:.2f} |"


def own(results):
    for row in (row for row in results if not row["name"].startswith(NEXMARK)):
        value = f"{row['value']:,} {row['unit']}".strip()
        aim = "" if row["aim"] == "-" else row["aim"] if row["holds"] else f"{row['aim']}, missed"
        yield f"| {row['name'].replace('_', ' ')} | {value} | {aim} | {row['how']} |"


def page(results, peers, compared, earlier):
    """The whole of docs/performance.md."""
    parts = (HEAD, *beside(peers), WHY.rstrip("\n"), *nexmark(results), *before(compared, earlier, results))
    parts += (OWN.rstrip("\n"), *own(results), LIMITS.rstrip("\n"))
    return "\n".join(parts) + "\n"


def write():
    """The page, if both have been measured: :mod:`peers` is long, and not part of ``make bench``."""
    if not (HERE / "peers.json").exists():
        return
    names = ("results.json", "peers.json", "beside.json", "earlier.json")
    PAGE.write_text(page(*(json.loads((HERE / name).read_text()) if (HERE / name).exists() else {} for name in names)))


if __name__ == "__main__":
    write()
