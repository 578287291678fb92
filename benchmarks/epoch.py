"""What an epoch costs: ``python benchmarks/epoch.py stateless|rolling [EVENTS_PER_SECOND]`` prints one JSON line.

A job reads the journal of a map and writes a map. Another process puts entries and looks for the results. First, one hundred
entries at a time, the next ones once the results are there: an idle job wakes for an epoch that has hardly anything to do.
Then so many entries a second, however the job fares: from the put of one to its result.

``$PITSTOP_PROFILE``: a file for a recording of the JVM (jcmd JFR) of the second half.
"""

import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.model.data_folder import DataFolder
from pitstop.spark.base.session import build_session
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore

WARM_EPOCHS, EPOCHS, AT_ONCE, SECONDS, RESULT_SECONDS = 40, 60, 100, 30.0, 120.0
LOOK_SECONDS = 0.002
PARTS = ("triggerExecution", "latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets", "commitBatch")


def pipeline(kind):
    """The results are under the keys of the entries; of entry ``n`` it has ``v`` = n, without state 2 n."""
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.map_journal("in"), name="in").select("key", "cast(new_value as bigint) v")
    if kind == "stateless":
        rows = rows.select("key", "v * 2 as v")
    else:
        rows = rows.group_by("key").rolling_aggregate("so-far", n=ps.count())
    rows.write_to(ps.sinks.map("out", key="key"), name="out")
    return p


class Results(threading.Thread):
    """Takes the time at which each value arrived in the map out."""

    def __init__(self, store):
        super().__init__(daemon=True)
        self._store = store
        self.arrived: dict[int, float] = {}

    def run(self):
        after = 0
        while True:
            if self._store.bounds("out") is None or not (found := self._store.journal("out", after, 50_000).events):
                time.sleep(LOOK_SECONDS)
                continue
            now, after = time.monotonic(), found[-1].sequence
            for event in found:
                self.arrived[int(json.loads(event.new_value)["v"])] = now


def feed(kind, url, rate):
    """Prints seconds, in two lists: of entries one hundred at a time, and at a rate."""
    store, factor = SqlMapStore(open_database(url)), 2 if kind == "stateless" else 1
    results = Results(store)
    results.start()
    number, waves = 1_000_000, []

    def put(count):
        nonlocal number
        numbers = range(number, number + count)
        number += count
        store.put_all("in", [(str(each % 1000), str(each)) for each in numbers])
        return numbers

    for _ in range(WARM_EPOCHS + EPOCHS):
        began = time.monotonic()
        wanted = put(AT_ONCE)[0] * factor
        assert wait_until(partial(results.arrived.__contains__, wanted), RESULT_SECONDS, step=LOOK_SECONDS), "no result"
        waves.append(results.arrived[wanted] - began)
        print("wave", flush=True)
    puts: dict[int, float] = {}
    began, step = time.monotonic(), max(1, rate // 100)
    while (passed := time.monotonic() - began) < SECONDS:
        if number - 1_000_000 - AT_ONCE * (WARM_EPOCHS + EPOCHS) < rate * passed:
            now = time.monotonic()
            for each in put(step):
                puts[each * factor] = now
        else:
            time.sleep(0.001)
    last = max(puts)
    wait_until(lambda: last in results.arrived, RESULT_SECONDS, step=LOOK_SECONDS)
    delays = [results.arrived[each] - at for each, at in puts.items() if each in results.arrived]
    print(json.dumps({"waves": waves[WARM_EPOCHS:], "delays": delays}), flush=True)


def measure(kind, rate):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = build_session(ClusterSettings(), folder / "spark")
        job = ps.run(pipeline(kind), spark, data_dir=folder, processing_guarantee="exactly_once", partitions=2)
        url = sqlite_url(DataFolder(folder).store)
        arguments = [sys.executable, __file__, "feed", kind, url, str(rate)]
        parts = collections.defaultdict(list)
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as feeder:
            for wave, line in enumerate(feeder.stdout, 1):
                if line != "wave\n":
                    found = json.loads(line)
                    break
                if wave == WARM_EPOCHS and "PITSTOP_PROFILE" in os.environ:
                    pid = str(spark._jvm.java.lang.ProcessHandle.current().pid())
                    subprocess.run(["jcmd", pid, "JFR.start", "name=epochs", "settings=profile"], check=True, capture_output=True)
                seen = job._run.running.query.lastProgress if wave > WARM_EPOCHS else None
                for part in PARTS if seen is not None else ():
                    parts[part].append(seen.durationMs.get(part, 0))
        if "PITSTOP_PROFILE" in os.environ:
            target = f"filename={Path(os.environ['PITSTOP_PROFILE']).absolute()}"
            subprocess.run(["jcmd", pid, "JFR.stop", "name=epochs", target], check=True, capture_output=True)
        job.stop()
    waves, delays = (sorted(each * 1000 for each in found[name]) for name in ("waves", "delays"))
    return {
        "idle_p50": statistics.median(waves),
        "idle_p90": waves[len(waves) * 9 // 10],
        "delay_p50": statistics.median(delays),
        "delay_p99": delays[len(delays) * 99 // 100],
        "parts": {part: statistics.median(each) for part, each in parts.items()},
    }


if __name__ == "__main__":
    if sys.argv[1] == "feed":
        feed(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000)))
