"""A query of NEXMark over parquet files, an epoch each: ``python benchmarks/nexmark.py plain|pitstop QUERY FOLDER``.

FOLDER holds the events, written if it is not there. Prints a JSON line: events a second from the end of the warm-up, in which
the JVM compiles, to the end. By hand a query is Spark's own SQL with RocksDB and changelogs; q4 and q6 have no such form, for a
rolling aggregate and state of one's own take a function in Python there.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import functions as F

import pitstop as ps
from by_hand import plain_session, start
from million import started
from pitstop.kit.waiting import wait_until
from sliding import rate

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "nexmark"))
import nexmark_events
import nexmark_queries

cloudpickle.register_pickle_by_value(nexmark_queries)  # workers could not import it
STEP, WARM_UP, EPOCHS = 500_000, 4, 12
"""Events an epoch; epochs before those that are measured, and these."""


def queries_by_hand(spark, folder):
    """Query -> what it is in Spark's own words."""
    events = spark.readStream.schema(nexmark_queries.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    timed = events.withWatermark("ts", "0 seconds")
    people, auctions, bids = (timed.filter(F.col("kind") == kind) for kind in ("person", "auction", "bid"))
    offers, wide = bids.select("auction", "bidder", "price", "ts"), "10 seconds"
    local = people.filter("state in ('OR', 'ID', 'CA')").select(F.col("id").alias("person"), "name", "city", "state")
    opened = auctions.filter("category = 10").select(F.col("id").alias("auction"), "seller")
    counted = offers.groupBy("auction", F.window("ts", wide, "2 seconds")).agg(F.count("*").alias("n"))
    newcomers = people.groupBy(F.col("id").alias("person"), F.window("ts", wide)).agg(F.max("name").alias("name"))
    sellers = auctions.groupBy("seller", F.window("ts", wide).alias("opened")).agg(F.count("*").alias("n"))
    won = auctions.select(F.col("id").alias("sold"), "category", "seller", F.col("ts").alias("opened"), "expires")
    at = "sold = auction and ts between opened - interval 1 second and opened + interval 1 second"
    valid = won.join(offers, F.expr(at)).filter("ts between opened and expires")
    clock = events.filter("kind = 'bid'").select("bidder", F.current_timestamp().alias("at")).withWatermark("at", "0 seconds")
    return {
        "q0": offers,
        "q1": offers.withColumn("price", F.col("price") * 0.908),
        "q2": offers.filter("auction % 123 = 0").select("auction", "price"),
        "q3": opened.join(local, F.col("seller") == F.col("person")).select("name", "city", "state", "auction"),
        "q5": counted.groupBy(F.window("window", "2 seconds").alias("at")).agg(F.max(F.struct("n", "auction"))),
        "q7": offers.groupBy(F.window("ts", wide)).agg(F.max(F.struct("price", "auction", "bidder"))),
        "q8": newcomers.join(sellers, (F.col("person") == F.col("seller")) & (F.col("window") == F.col("opened"))),
        "q9": valid.groupBy("sold", "category", "seller", F.window("opened", "1 second")).agg(F.max("price")),
        "q11": offers.groupBy("bidder", F.session_window("ts", wide)).agg(F.count("*").alias("n")),
        "q12": clock.groupBy("bidder", F.window("at", wide)).agg(F.count("*").alias("n")),
    }


def start_plain(query, events, folder):
    return start(queries_by_hand(plain_session(folder), events)[query], folder), None


def start_pitstop(query, events, folder):
    """In the store that a server's job begins in by itself."""
    run, checkpoint, *_ = started(nexmark_queries.pipeline(query, str(events), ps.sinks.noop()), folder, "auto")
    return checkpoint, run


def main():
    which, query, events = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    nexmark_events.write_files(events, (WARM_UP + EPOCHS) * STEP, STEP)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        checkpoint, job = {"plain": start_plain, "pitstop": start_pitstop}[which](query, events, folder)
        last = WARM_UP + EPOCHS - 1
        assert wait_until(lambda: checkpoint.committed() >= last or (job is not None and job.failure()), 1200, step=0.1)
        if job is not None and (failure := job.failure()):
            raise failure
        found = rate(checkpoint, WARM_UP - 1, last, STEP)
        assert job is None or job.outgrown is None, "a server's job would have moved its state to disk meanwhile"
        print(json.dumps({"rows_per_second": found}), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
