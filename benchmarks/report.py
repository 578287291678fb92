"""Write docs/performance.md out of what was measured. ``python benchmarks/report.py``

benchmarks/results.json is of ``make bench``, peers.json of ``make bench-peers``, topics.json of ``make bench-topics`` and
beside.json of ``make bench-beside``; earlier.json holds figures that were measured before, with the commit of each.
"""

import json
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
BY_HAND = "Spark, RocksDB"

HEAD = """# How fast it is

`make bench-peers` and `make bench` write this page. The machine has two cores and 24 GB, and no disk of its own. One measurement
runs after the other, and nothing beside them. On another machine the figures differ; a ratio compares two measurements of one
run. Each row shows its last measurement, so not all rows are of one commit: `git log -S` finds the commit.

## Beside Spark by hand, Flink and Jet

All engines get the same events (key, value, time) by one formula, and the same keys. They compute count, sum and maximum over one
window that contains all events, so every key stays in state. They use two cores, and run exactly once.

- Spark and Pitstop read the events from parquet, 500,000 an epoch.
- Flink 2.3 and Jet 5.5 make the events in their own process, and take a snapshot every ten seconds.
- Spark by hand uses RocksDB with changelogs, and Spark's defaults for everything else.
"""

WHY = """
Jet and Flink pass on each event as it comes, in one process, so they pay for no epochs. Jet also keeps objects where Spark keeps
rows of bytes. Pitstop has everything that Spark has: SQL's types and functions, its sources and formats, and any plan that its
optimizer can make. State that does not fit into memory is on disk, under names that outlive the code.
"""

TOPICS = """
## Kafka in, Kafka and PostgreSQL out

`make bench-topics` writes this table. All read one topic of four partitions in one Apache Kafka 4.1, which shares the two cores
with them.

- *Backlog*: four million messages of JSON, from the beginning of the topic. Count, sum and maximum by one of 1,000 keys, over
  windows of ten minutes. The rate counts from the moment when the first window can be read to that of the last, so no start is
  in it.
- *Live*: 2,000 messages a second through a filter into another topic. The latency is from produced to read by `read_committed`.
- Pitstop and Flink write exactly once, Flink with a checkpoint a second. Spark by hand writes at least once: its sink for Kafka
  has no transactions, and its writer for JDBC no marks. Pitstop begins an epoch a second, the default of `max_latency`, or one
  after the other.
- Into a topic Pitstop is behind: four tasks of each epoch each begin, mark and end a transaction of their own, in Python. Live,
  its epochs take seconds on these two cores. [Real time](real-time.md) is the way to rows within milliseconds.

| | backlog to a topic, rows/s | backlog to PostgreSQL, rows/s | live, p50 | live, p99 |
|---|---|---|---|---|
"""

QUERIES = """
## NEXMark

The queries are those of [examples/nexmark](../examples/nexmark/nexmark_queries.py), over 500,000 events an epoch of parquet,
exactly once, on two cores. They run with the default options of a server's job. State is in memory. The exceptions are q3 and
joins, whose state is on disk: a changed version can take it over only from there.

"By hand" is Spark's own SQL with RocksDB. It has no form for q4 and q6 on a stream. These two queries go on from q9's join of
each bid with its auction, and cost what that join costs.

| query | events a second | by hand | ratio |
|---|---|---|---|
"""

BEFORE = """
## Before and after

The commit of each earlier figure is in brackets. "In turns" means that `make bench-beside` measured both in one run: the table
shows the best of its rounds. The other figures were measured before, in a run of their own, perhaps at another speed of the
machine. A million keys are in memory in both. For seconds, ms, bytes and MB, less is better.

| measured | before | after | times as good |
|---|---|---|---|
"""

OWN = """
## Other measurements

`make bench` measures all of these, and `make bench MEASURES="million sql"` some of them. A missed aim says so.

| measured | value | aim | how |
|---|---|---|---|
"""
LIMITS = """
## Why some aims are missed

- **An epoch and put → result**: an idle epoch takes 101 ms. Spark's planning and its jobs take 79 of these. An event waits for
  the current epoch to end, and then for its own.
- **A start** in an engine of its own takes what Spark by hand takes: a JVM, Spark's session, and the compiled code of a first
  epoch. A shared archive of classes and a warm spare do some of that work in advance. In an engine that jobs share
  ([engines.md](engines.md)) a job needs no JVM.
- **Memory** of an own engine is the heap of 2 GB, which Java fills before it collects, Spark's own classes and code, and Python
  with Arrow. Other collectors and smaller heaps gave less memory and less speed: the serial one 10 to 18 % less with a million
  keys.
- **16 million keys** fit in no cache. An epoch reads each of its keys from files, and a second time only to count rows of state.
- **Small state on disk** costs what it costs Spark by hand. Samples of both JVMs show the same operators with about the same
  shares. Single turns gave ratios of 0.85 to 1.32. By default (`state_store` auto) a job keeps such state in memory.
- **The gap of an update** is a first epoch and little more, as the table below shows. That epoch cannot begin earlier. It reads
  the state that the old version's last epoch writes, from the offset at which that epoch ends.

| new version | gap | save | handing the job over | restore | first epoch |
|---|---|---|---|---|---|
| same structure | 0.92 s | 0.10 | 0.07 | 0.08 | 0.68 |
| one more stage | 1.57 s | 0.08 | 0.05 | 0.45 | 1.0 |
"""
NEXMARK, AGAINST = "nexmark_", "_vs_plain"
OUTPUTS = ("topic", "postgres")


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
    yield "In brackets: the ratio to Spark by hand."
    for keys in counts:
        yield from ("", "```mermaid", "xychart-beta horizontal", f'    title "{int(keys):,} keys: thousands of rows a second"')
        yield "    x-axis [" + ", ".join(f'"{name}"' for name in peers[keys]) + "]"
        yield f"    y-axis 0 --> {max(round(rate / 1000) for rate in peers[keys].values())}"
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


def topics(engines):
    """A row for each engine between topics; nothing if none was measured."""
    if not engines:
        return
    yield TOPICS.rstrip("\n")
    for name, row in engines.items():
        rates = (
            f"{row[kind]:,.0f} ({row[kind] / engines['Spark by hand'][kind]:.2f})" if kind in row else "-" for kind in OUTPUTS
        )
        yield f"| {name} | {' | '.join(rates)} | {row['p50']:.2f} s | {row['p99']:.2f} s |"


def own(results):
    for row in (row for row in results if not row["name"].startswith(NEXMARK)):
        value = f"{row['value']:,} {row['unit']}".strip()
        aim = "" if row["aim"] == "-" else row["aim"] if row["holds"] else f"{row['aim']}, missed"
        yield f"| {row['name'].replace('_', ' ')} | {value} | {aim} | {row['how']} |"


def page(results, peers, compared, earlier, between_topics):
    """The whole of docs/performance.md."""
    parts = (
        HEAD,
        *beside(peers),
        WHY.rstrip("\n"),
        *topics(between_topics),
        *nexmark(results),
        *before(compared, earlier, results),
    )
    parts += (OWN.rstrip("\n"), *own(results), LIMITS.rstrip("\n"))
    return "\n".join(parts) + "\n"


def write():
    """The page, if both have been measured: :mod:`peers` is long, and not part of ``make bench``."""
    if not (HERE / "peers.json").exists():
        return
    names = ("results.json", "peers.json", "beside.json", "earlier.json", "topics.json")
    PAGE.write_text(page(*(json.loads((HERE / name).read_text()) if (HERE / name).exists() else {} for name in names)))


if __name__ == "__main__":
    write()
