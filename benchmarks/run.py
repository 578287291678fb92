"""``make bench``: run every measurement, print a table, write benchmarks/results.json."""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import report

HERE = Path(__file__).parent
ROUNDS, TURNS, KEYS = 3, 5, 10_000
QUERIES = os.environ.get("QUERIES", "q0 q1 q2 q3 q4 q5 q6 q7 q8 q9 q11 q12").split()
"""Those of NEXMark that are measured."""


def run(*arguments, script="one.py", killed=False, **environment):
    """The JSON line that a measurement prints; ``killed``: it ends itself by SIGKILL."""
    command = [sys.executable, HERE / script, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=HERE, check=False, start_new_session=True, env=os.environ | environment
    )
    if done.returncode != (-signal.SIGKILL if killed else 0):
        raise SystemExit(f"{script} {' '.join(map(str, arguments))} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def result(name, value, unit, aim, holds, how):
    return {"name": name, "value": round(value, 3), "unit": unit, "aim": aim, "holds": bool(holds), "how": how}


def median_ratio(ours, theirs):
    """Of the rates of turns, which single turns of either would lead astray."""
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(one["rows_per_second"] / other["rows_per_second"] for one, other in pairs)


def throughput(results, say):
    """Plain and Pitstop take turns, so that whatever else the machine does meets both."""
    runs: dict[tuple[str, ...], list] = {("plain",): [], ("pitstop", "auto"): [], ("pitstop", "rocksdb"): []}
    for number in range(TURNS):
        for what in runs:
            say(f"keyed tumbling aggregate, {' '.join(what)}, turn {number + 1} of {TURNS}")
            runs[what].append(run(*what))
    plain, auto, on_disk = runs.values()
    how = (
        "10 million events of a Python source, 10,000 keys, windows of a minute, 500,000 rows an epoch, after the first epoch. "
        f"{TURNS} turns. Plain Spark: RocksDB with changelogs, otherwise Spark's defaults"
    )
    for name, found, store in (("", auto, "auto"), ("_on_disk", on_disk, "rocksdb")):
        ratio = median_ratio(found, plain)
        told = f"{how}. state_store {store}. Median of the turns' ratios"
        results.append(result(f"aggregate_throughput{name}_vs_plain", ratio, "ratio", ">= 1", ratio >= 1, told))
        best = max(r["rows_per_second"] for r in found)
        results.append(result(f"aggregate_throughput{name}", best, "rows/s", "-", True, f"{how}. state_store {store}. Best turn"))
    peaks = [min(r["peak_bytes"] for r in found) for found in (on_disk, plain)]
    how = "peak resident size of the process and its children in those runs, state on disk, least of each"
    results.append(result("memory_vs_plain", peaks[0] / peaks[1], "ratio", "<= 1.2", peaks[0] / peaks[1] <= 1.2, how))


def map_sink(results, say):
    say("map sink")
    rate = run("map-sink")["upserts_per_second"]
    how = "1 million upserts of 10,000 keys into SQLite with journal, 100,000 an epoch, exactly once, after the first epoch"
    results.append(result("map_sink_upserts", rate, "upserts/s", ">= 50000", rate >= 50_000, how))


def keyed(results, say):
    for which, aim in (("rolling", 150_000), ("state", 80_000)):
        for keys in (KEYS, 1_000_000):
            say(f"{which} by key, {keys:,} keys")
            found = run(which, str(keys))
            rate = found["rows_per_second"]
            what = "rolling count by key" if which == "rolling" else "map_stateful with a Python function that counts"
            how = f"{what}, {keys:,} keys, 500,000 rows an epoch, two partitions, after the first epoch"
            wanted = keys == KEYS
            name = f"{which}_by_key_{keys}"
            results.append(result(name, rate, "rows/s", f">= {aim}" if wanted else "-", rate >= aim or not wanted, how))
            how += ". Divided by the processor seconds of the process and its children"
            results.append(result(f"{name}_by_cpu", found["rows_per_cpu_second"], "rows/cpu s", "-", True, how))


def export(results, say):
    say("export of a snapshot with a million keys")
    found = run("export")
    held = found["epoch_during_export_seconds"] - found["usual_epoch_seconds"]
    ratio = held / found["usual_epoch_seconds"]
    how = "longest epoch while exporting less the median epoch before, over that median; 1 million keys, 100,000 rows an epoch"
    results.append(result("export_holds_up_epochs", ratio, "epochs", "<= 1", ratio <= 1, how))
    how = f"from call to written manifest, {found['bytes']:,} bytes"
    results.append(result("export_seconds", found["export_seconds"], "s", "-", True, how))


def million(results, say):
    """Keyed aggregate of a million keys: speed, SIGKILL and restart beside plain Spark's, then restores of its snapshot."""
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        events = str(Path(temporary) / "events")
        for which in ("plain", "pitstop"):
            say(f"a million keys, {which}")
            folder = Path(temporary) / which
            found[which] = run("run", which, folder, script="million.py", killed=True, EVENTS=events)
            say(f"restart after SIGKILL, {which}")
            found[which]["killed_at"] = time.time()
            found[which] |= run("restart", which, folder, script="million.py", EVENTS=events)
        how = "1 million keys, 500,000 rows an epoch from parquet, 2 partitions, state_store memory; "
        how += "plain: RocksDB with changelog, otherwise Spark's defaults"
        ratio = found["pitstop"]["rows_per_second"] / found["plain"]["rows_per_second"]
        results.append(result("million_keys_vs_plain", ratio, "ratio", ">= 2", ratio >= 2, how))
        rate = found["pitstop"]["rows_per_second"]
        results.append(result("million_keys", rate, "rows/s", ">= 300000", rate >= 300_000, how))
        lost = found["pitstop"]["lost"]
        results.append(result("million_keys_lost_on_sigkill", lost, "rows", "= 0", lost == 0, "rows read less rows in state"))
        say("restart after SIGKILL, by a control plane with a warm spare")
        served = run("served", Path(temporary) / "served", script="million.py", EVENTS=events)
        ratio = served["restart"] / (found["plain"]["committed_at"] - found["plain"]["killed_at"])
        how = (
            "from SIGKILL in the middle of an epoch to the first commit after it; Pitstop: a control plane with one warm spare; "
        )
        how += "plain: a new process, started at once"
        results.append(result("million_keys_restart_vs_plain", ratio, "ratio", "<= 0.333", ratio <= 1 / 3, how))
        results.append(result("million_keys_restart", served["restart"], "s", "-", True, how))
        how = "the same control plane, a version with one more stage: from its submit with the snapshot to its first commit"
        results.append(result("restore_changed_structure_served", served["changed"], "s", "-", True, how))
        ratio = found["pitstop"]["seconds"] / found["plain"]["seconds"]
        how = "from the start of the query to its first commit, in a new process, without control plane and spare"
        results.append(result("million_keys_cold_restart_vs_plain", ratio, "ratio", "-", True, how))
        restores(results, say, Path(temporary) / "pitstop", events, found["plain"]["seconds"])


def restores(results, say, folder, events, plain):
    """``plain``: seconds of plain Spark's restart of the same job on its own checkpoint."""
    found = {}
    for which in ("same", "changed", "own"):
        say(f"restore of a million keys, {which} structure")
        found[which] = run("restore", which, folder, script="million.py", EVENTS=events)
    seconds, restored = {which: times["seconds"] for which, times in found.items()}, found["changed"]["restored"]
    how = "from the call to the first commit, in a new process; against the same engine's restart of the checkpoint itself"
    ratio = seconds["same"] / seconds["own"]
    results.append(result("restore_same_structure_vs_restart", ratio, "ratio", "<= 1.1", ratio <= 1.1, how))
    how = "from the call to the first commit, in a new process; against plain Spark's restart of that job, with RocksDB"
    ratio = seconds["same"] / plain
    results.append(result("restore_same_structure_vs_plain", ratio, "ratio", "<= 1.1", ratio <= 1.1, how))
    how = "a stage added, in a new process: from the comparison of plans to the checkpoint that holds all state"
    results.append(result("restore_changed_structure", restored, "s", "< 15", restored < 15, how))
    how = "the same, with compiling the job before and the first epoch of 500,000 rows after it"
    results.append(result("restore_changed_structure_first_commit", seconds["changed"], "s", "-", True, how))


def adopting(results, say):
    """The adoption of a query by hand with a million keys, beside a plain restart of that query."""
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        for what in ("fill", "adopt", "go_on", "restart"):
            say(f"a query by hand with a million keys: {what}")
            found[what] = run(what, Path(temporary) / "query", script="adopting.py", EVENTS=str(Path(temporary) / "events"))
    assert found["adopt"]["rows"] == 1_000_000, found["adopt"]
    of = f"1 million keys by hand, {found['fill']['bytes']:,} bytes of state in RocksDB with changelog, 2 partitions"
    how = f"{of}: from the compiling of the job to the snapshot, in a process whose session is there"
    results.append(result("adopt_million_keys", found["adopt"]["seconds"], "s", "-", True, how))
    ratio = found["adopt"]["seconds"] / found["restart"]["seconds"]
    how = "the same; against a plain restart of that query, from its start to its first commit, 500,000 rows of parquet"
    results.append(result("adopt_million_keys_vs_restart", ratio, "ratio", "-", True, how))
    how = "from the compiling of the job to its first commit from that snapshot, 500,000 rows of parquet, in a new process"
    results.append(result("adopted_first_commit", found["go_on"]["seconds"], "s", "-", True, how))
    ratio = found["go_on"]["seconds"] / found["restart"]["seconds"]
    how = "the same; against the plain restart of the query"
    results.append(result("adopted_first_commit_vs_restart", ratio, "ratio", "-", True, how))


def lake(results, say):
    """Files and a Delta table, exactly once, beside Spark's own sink of files; in turns."""
    runs: dict[str, list] = {"plain": [], "files": [], "delta": []}
    with tempfile.TemporaryDirectory() as events:
        for number in range(ROUNDS):
            for what in runs:
                say(f"rows into {what if what != 'plain' else 'files by hand'}, turn {number + 1} of {ROUNDS}")
                runs[what].append(run(what, events, script="lake.py"))
    how = "8 million rows of three columns from parquet, 500,000 an epoch, after the first four epochs, exactly once. "
    how += f"{ROUNDS} turns; median of the turns' ratios to Spark's own sink of parquet files"
    for what, words in (("files", "sinks.files, parquet"), ("delta", "sinks.delta, a folder of this machine")):
        ratio = median_ratio(runs[what], runs["plain"])
        results.append(result(f"lake_{what}_vs_plain", ratio, "ratio", ">= 1", ratio >= 1, f"{words}: {how}"))
        best = max(turn["rows_per_second"] for turn in runs[what])
        results.append(result(f"lake_{what}", best, "rows/s", "-", True, f"{words}: the best of these turns"))


def many_keys(results, say):
    """A million keys and sixteen of a server's job, in the state store that it has by itself; and those sixteen by hand."""
    rates = {}
    for which, keys in (("pitstop", 1_000_000), ("pitstop", 16_000_000), ("plain", 16_000_000)):
        say(f"{keys:,} keys, {which}")
        with tempfile.TemporaryDirectory() as temporary:
            settings = {"EVENTS": str(Path(temporary) / "events"), "KEYS": str(keys), "STORE": "auto"}
            if which == "pitstop":
                found = run("grown", Path(temporary) / "served", script="million.py", **settings)
                say(f"its state is then in the store {found['store']}")
            else:
                found = run("run", which, temporary, script="million.py", killed=True, **settings)
        rates[which, keys] = found["rows_per_second"]
    how = "16 million keys, 500,000 rows an epoch from parquet, 2 partitions, state_store auto, which has moved to disk by itself"
    rate = rates["pitstop", 16_000_000]
    results.append(result("sixteen_million_keys", rate, "rows/s", "-", True, how))
    for name, other, words, aim in (
        ("a_million", ("pitstop", 1_000_000), "a million keys", 0.8),
        ("plain", ("plain", 16_000_000), "the same by hand", 1.0),
    ):
        ratio, told = rate / rates[other], f"{how}; over the rate of {words}, {rates[other]:,.0f} rows/s"
        results.append(result(f"sixteen_million_keys_vs_{name}", ratio, "ratio", f">= {aim:g}", ratio >= aim, told))


def sliding(results, say):
    """With few rows an epoch what an epoch costs by itself counts for more; the stream of many events has many."""
    for step in (2_000_000, 500_000):
        rates = {}
        for which in ("plain", "pitstop"):
            say(f"sliding window of 60 minutes by 1, {step:,} rows an epoch, {which}")
            rates[which] = run(which, script="sliding.py", STEP=str(step))["rows_per_second"]
        ratio = rates["pitstop"] / rates["plain"]
        how = (
            f"12 epochs of {step:,} events in parquet, after a warm-up of 6 million, 100 keys, 600 events a key and minute; "
            "plain: Spark's own window()"
        )
        name = f"sliding_60_by_1_vs_plain_{step}"
        results.append(result(name, ratio, "ratio", ">= 5", ratio >= 5, how))


def update_gap(results, say):
    say("gap of an update, and of a restart of plain Spark")
    done = subprocess.run([sys.executable, HERE / "update_gap.py"], capture_output=True, text=True, cwd=HERE, check=False)
    if done.returncode:
        raise SystemExit(f"update_gap failed:\n{done.stderr[-3000:]}")
    gaps = json.loads(done.stdout.splitlines()[-1])
    how = "last commit of the old version to first of the new; 2,000 events/s, 1,000 keys, control plane and one warm spare"
    for name in ("same", "changed"):
        results.append(result(f"update_gap_{name}_structure", gaps[name], "s", "<= 3", gaps[name] <= 3, how))
        ratio = gaps[name] / gaps["plain"]
        against = "over the gap of plain Spark: stop, new process, first epoch from its checkpoint"
        results.append(result(f"update_gap_{name}_structure_vs_plain", ratio, "ratio", "< 1", ratio < 1, against))


def doors(results, say):
    say("the REST API under 500 clients that poll and 2,000 that wait")
    found = run(script="doors.py")
    how = (
        f"1,000 jobs, a list of {found['list_bytes']:,} bytes. Server on one core, {found['server_cores']:.2f} used. 500 clients "
        "that ask for a job each second, 2,000 that wait, 50 jobs a second that make progress. 30 s"
    )
    for name, aim in (("list_p50", None), ("list_p99", 0.1), ("poll_p50", None), ("poll_p99", None)):
        holds, said = aim is None or found[name] < aim, "-" if aim is None else f"< {aim}"
        results.append(result(f"doors_{name}", found[name], "s", said, holds, how))


def cluster(results, say):
    say("two members with a core each, and a third one")
    found = run(script="cluster.py")
    ratio = found["members"] / found["local"]
    how = "1 million keys in RocksDB, 500,000 rows an epoch from parquet, 12 epochs; 2 members of one core against local[2]"
    results.append(result("cluster_vs_local", ratio, "ratio", ">= 0.85", ratio >= 0.85, how))
    results.append(result("cluster_throughput", found["members"], "rows/s", "-", True, how))
    how = (
        f"that job when a third member joins: last commit on 2 to first on {found['state_partitions']} partitions, one warm spare"
    )
    results.append(result("rescale_gap", found["gap"], "s", "< 5", found["gap"] < 5, how))


def steady(results, say):
    say("a control plane while 50 jobs run")
    found = run(script="steady.py")
    cores, streamed = found["server_cores"], found["server_cores_with_streams"]
    how = "50 runs without Spark that commit an epoch and report each second; processor time of the server over 60 s"
    results.append(result("steady_cores_of_50_jobs", cores, "cores", "< 0.1", cores < 0.1, how))
    more = streamed - cores
    results.append(result("cores_of_200_streams", more, "cores", "< 0.1", more < 0.1, f"{how}; with 200 streams less without"))


def live(results, say):
    say("epochs on their way to who follows what changes")
    found = run(script="live.py")
    how = f"{found['epochs']} epochs of one job with windows and a map, within 60 s; from the commit's file to the event, p95"
    results.append(result("event_after_commit_p95", found["p95"], "s", "<= 0.3", found["p95"] <= 0.3, how))


def epochs(results, say):
    """What an epoch costs that has hardly anything to do, and how soon a result is there."""
    aims = {"stateless": (60, 90, 150), "rolling": (130, 180, 300)}
    for kind, (idle, usual, longest) in aims.items():
        say(f"epochs of a {kind} job between two maps")
        found = run(kind, script="epoch.py")
        how = "one hundred entries into a map, the next ones once their results are in another; median of 60"
        results.append(result(f"idle_epoch_{kind}", found["idle_p50"], "ms", f"<= {idle}", found["idle_p50"] <= idle, how))
        how = "1,000 entries a second into a map, from the put of one to its result in another map, over 30 s"
        for name, aim in (("p50", usual), ("p99", longest)):
            value = found[f"delay_{name}"]
            results.append(result(f"put_to_result_{kind}_{name}", value, "ms", f"<= {aim}", value <= aim, how))


def idle(results, say):
    """Plain and Pitstop take turns, so that whatever else the machine does meets both."""
    cores: dict[str, list[float]] = {"plain": [], "pitstop": []}
    for number in range(ROUNDS):
        for which, found in cores.items():
            say(f"a job that has nothing to do for a minute, {which}, round {number + 1} of {ROUNDS}")
            found.append(run(which, script="idle.py")["cores"])
    ours, theirs = (statistics.median(cores[which]) for which in ("pitstop", "plain"))
    how = "windows by key over a folder of CSV in which nothing happens; processor time of all its processes over 60 s"
    results.append(result("idle_job_cores", ours, "cores", "-", True, f"{how}; median of {ROUNDS} rounds"))
    how = (
        f"that over the same by hand, with Spark's own source of CSV, looked for new rows as often, which took {theirs:.3f} cores"
    )
    results.append(result("idle_job_vs_plain", ours / theirs, "ratio", "<= 1", ours <= theirs, how))


def page(results, say):
    say("the page over a store of 1,000 jobs, 500 snapshots and a map of a million entries")
    found = run(script="page.py")
    slowest = max((value, name) for name, value in found.items() if name.endswith("_paint"))
    how = f"Chromium without a graphics card, 1280 x 900, worst of 5 loads of each of 8 screens; the slowest is {slowest[1]}"
    results.append(result("page_first_paint", slowest[0], "s", "< 1", slowest[0] < 1, how))
    slowest = max((value, name) for name, value in found.items() if name.endswith("_content"))
    how = f"until a screen shows what it is for: rows, the graph, the map; median of 5 loads each, the slowest is {slowest[1]}"
    results.append(result("page_content", slowest[0], "s", "< 1", slowest[0] < 1, how))
    how = f"{found['event_on_page_epochs']} epochs of one job in that store, from the commit's file to the rows on the page, p95"
    results.append(result("event_on_page_p95", found["event_on_page_p95"], "s", "<= 0.3", found["event_on_page_p95"] <= 0.3, how))
    how = (
        "10,000 vehicles on the map, 2,000 of them written each second from the same machine, software rendering; "
        f"the longest frame took {found['longest_frame_ms']:.0f} ms"
    )
    results.append(result("page_frames", found["frames_per_second"], "1/s", ">= 30", found["frames_per_second"] >= 30, how))


def operator(results, say):
    say("an operator of Kubernetes with 1,000 JetJobs")
    found = run(script="kubernetes.py")
    if not found:
        say("left out: make kubernetes-rig has not been run here, or this is not root")
        return
    how = "1,000 JetJobs whose cluster is not there, for 60 s after their statuses were written; processor time of the operator"
    share = found["steady_core_share"]
    results.append(result("operator_steady_cores", share, "cores", "< 0.05", share < 0.05, how))
    how = "the same; requests other than watches and the renewal of its lease"
    results.append(result("operator_steady_requests", found["steady_requests"], "", "0", found["steady_requests"] == 0, how))
    how = "500 JetJobs applied at once, twice; from when another watch sees one to when it sees its status"
    results.append(result("operator_status_p99", found["status_after_creation_p99"], "s", "-", True, how))
    found = run(script="kubernetes_jobs.py")
    how = f"kubectl apply of a JetJob to its status Running, one warm runner; the longest of 5 took {found['running_max']:.1f} s"
    results.append(result("operator_job_running", found["running_median"], "s", "-", True, how))
    how = f"kubectl apply of a JetJobSnapshot to Exported; the longest of 5 took {found['exported_max']:.1f} s"
    results.append(result("operator_snapshot_exported", found["exported_median"], "s", "-", True, how))
    how = f"five jobs restarted by the command line: from each change of state to the status; median {found['said_median']:.2f} s"
    results.append(result("operator_status_said", found["said_max"], "s", "<= 2", found["said_max"] <= 2, how))


def sql(results, say):
    say("keyed tumbling aggregate, in SQL and by the Python API in turns")
    runs = run("sql")
    ratio = median_ratio(runs["sql"], runs["python"])
    how = (
        "the job of aggregate_throughput on disk, in SQL and by the Python API in one session; "
        f"median of the ratios of {len(runs['sql'])} turns"
    )
    results.append(result("sql_throughput_vs_python", ratio, "ratio", ">= 0.97", ratio >= 0.97, how))
    say("statements and SELECT")
    found = run(script="sql.py")
    for name, aim, how in (
        ("compiled", 0.15, "three mappings, a view and a job with a window, a join and a filter: parsed and compiled"),
        ("few", 0.3, "the first row of a map of 10 entries, over HTTP, warm"),
        ("by_key", 0.05, "the row of one key of a map of a million entries, over HTTP, warm"),
    ):
        median, most = found[name]
        how += f"; median of 40, the longest took {most:.3f} s"
        results.append(result(f"sql_{name}", median, "s", f"<= {aim}", median <= aim, how))
    results.append(result("sql_count_million", found["whole"], "s", "-", True, "SELECT COUNT(*) on that map"))


def admission(results, say):
    """Short and long take turns, so that whatever else the machine does meets both."""
    runs: dict[str, list] = {"1": [], "10": []}
    for number in range(ROUNDS):
        for seconds in runs:
            say(f"300 MB of CSV with an interval of {seconds} s, round {number + 1} of {ROUNDS}")
            runs[seconds].append(run(seconds, script="admission.py")["mb_per_second"])
    ratio = max(runs["1"]) / max(runs["10"])
    how = (
        "300 MB of CSV into windows and parquet, exactly once, best of "
        f"{ROUNDS} turns each, after the first epoch: with a snapshot_interval of 1 s against 10 s"
    )
    results.append(result("admission_short_vs_long_interval", ratio, "ratio", ">= 0.8", ratio >= 0.8, how))
    results.append(result("admission_short_interval", max(runs["1"]), "MB/s", "-", True, how))


def nexmark(results, say):
    """Each query by hand and by Pitstop, one after the other, over the same files."""
    with tempfile.TemporaryDirectory() as temporary:
        events = str(Path(temporary) / "events")
        for query in QUERIES:
            rates = {}
            for which in ("plain", "pitstop") if query not in ("q4", "q6") else ("pitstop",):
                say(f"NEXMark {query}, {which}")
                rates[which] = run(which, query, events, script="nexmark.py")["rows_per_second"]
            how = "events of all kinds, 500,000 an epoch from parquet, 12 epochs after 4 of warm-up, two cores, exactly once"
            results.append(result(f"nexmark_{query}", rates["pitstop"], "events/s", "-", True, how))
            if "plain" in rates:
                ratio = rates["pitstop"] / rates["plain"]
                how = f"over Spark's own SQL with RocksDB, which reached {rates['plain']:,.0f} events/s"
                results.append(result(f"nexmark_{query}_vs_plain", ratio, "ratio", ">= 1", ratio >= 1, how))


def start(results, say):
    say("starts, cold and with a spare, beside plain Spark's")
    found = run(script="start.py")
    how = "a job of 2,000 events/s in windows of 1,000 keys: from its submit; median of 3"
    for kind, running, committed in (("cold", 8.0, 10.0), ("spare", 1.5, None)):
        for name, aim in (("running", running), ("committed", committed)):
            value = found[kind][name]
            told = f"{how}, {'a warm runner' if kind == 'spare' else 'no warm runner'}"
            holds, said = aim is None or value <= aim, "-" if aim is None else f"<= {aim:g}"
            results.append(result(f"start_{kind}_{name}", value, "s", said, holds, told))
    ratio = found["cold"]["committed"] / found["plain"]["committed"]
    how = f"to the first commit, over a program by hand with Spark's defaults, which took {found['plain']['committed']:.1f} s"
    results.append(result("start_cold_vs_plain", ratio, "ratio", "-", True, how))
    how = "private and shared pages by use (PSS), after half a minute; Python, JVM and workers"
    for kind, aim in (("runner", 500), ("spare", 350)):
        value = found["bytes"][kind] / 1e6
        results.append(result(f"memory_of_{kind}", value, "MB", f"<= {aim}", value <= aim, how))


def first_day(results, say):
    say("the waits of a first day, beside a cold start of plain Spark")
    found = run(script="first_day.py")
    plain = f"A cold start of plain PySpark takes {found.pop('plain'):.1f} s in the same run"
    for name, aim, how in (
        ("check_typo_without_server", 0.5, "pitstop check of a misspelt verb, from the shell, without a server"),
        ("check_typo", 0.5, "the same with a server"),
        ("check_without_server", None, "pitstop check --local of a job that is right: it starts a Spark of its own"),
        ("check", 1.5, "pitstop check of a job that is right, from the shell, with a server and its engine"),
        ("snapshot_query", 1.5, "pitstop snapshot query on a stage of 100 keys, from the shell"),
        ("first_test", 15.0, "pytest of the first test of a project that pitstop init has made, from the shell"),
        ("epoch_of_a_test", 0.3, "an epoch of that job in a test, after its first three"),
        ("submit", None, "pitstop submit until the job runs, from the shell, in an engine that is there"),
        ("update", None, "pitstop update to version 2 of that project, from the shell"),
        ("update_gap", None, "of those updates, from the last epoch before to the first after"),
    ):
        said, holds = ("-", True) if aim is None else (f"<= {aim:g}", found[name] <= aim)
        results.append(result(f"day_{name}", found[name], "s", said, holds, f"{how}. {plain}"))


MEASURES = {
    measure.__name__: measure
    for measure in (
        throughput,
        map_sink,
        keyed,
        export,
        update_gap,
        sliding,
        million,
        adopting,
        lake,
        many_keys,
        doors,
        cluster,
        steady,
        live,
        epochs,
        idle,
        page,
        operator,
        sql,
        admission,
        start,
        first_day,
        nexmark,
    )
}


def main():
    """All measures, or those that are named; results of the others stay in the file as they are."""
    console, file = Console(), HERE / "results.json"
    results = json.loads(file.read_text()) if sys.argv[1:] else []
    for name in sys.argv[1:] or MEASURES:
        new: list[dict] = []
        MEASURES[name](new, lambda text: console.print(f"[dim]{text} ...[/dim]"))
        taken = {row["name"] for row in new}
        results = [row for row in results if row["name"] not in taken] + new
        file.write_text(json.dumps(results, indent=2) + "\n")
    table = Table("name", "value", "unit", "aim", "holds")
    for row in results:
        table.add_row(row["name"], f"{row['value']:,}", row["unit"], row["aim"], "yes" if row["holds"] else "NO")
    console.print(table)
    report.write()


if __name__ == "__main__":
    main()
