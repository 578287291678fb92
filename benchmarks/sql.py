"""How soon a statement is compiled, and a SELECT on a map of a million entries answered; prints one line of JSON."""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "fleet"))

from stack import Stack

from pitstop.sql.programs import read_program
from pitstop.store.maps import open_map_store

ENTRIES, PAGE, ROUNDS = 1_000_000, 50_000, 40
STATEMENTS = """
CREATE MAPPING pings (vin VARCHAR, speed DOUBLE, ts TIMESTAMP) TYPE CsvTail OPTIONS ('path' = '/pings');
CREATE MAPPING cars (__key VARCHAR, owner VARCHAR) TYPE IMap;
CREATE MAPPING speeds (__key VARCHAR, owner VARCHAR, n BIGINT, mean DOUBLE) TYPE IMap;
CREATE VIEW ordered AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE pings, DESCRIPTOR(ts), INTERVAL '5' SECONDS));
CREATE JOB fleet AS SINK INTO speeds
WITH minutes AS (
    SELECT window_start, vin, COUNT(*) AS n, AVG(speed) AS mean, MAX(speed) FILTER (WHERE speed > 3) AS most
    FROM TABLE(TUMBLE(TABLE ordered, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE speed >= 0 GROUP BY window_start, vin)
SELECT vin || CAST(window_start AS VARCHAR), c.owner, n, mean FROM minutes AS m LEFT JOIN cars AS c ON m.vin = c.__key
"""


def compile_once():
    return read_program(STATEMENTS).definition().build(())


def median_seconds(call):
    call()
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), max(taken)


def selects(stack):
    client = stack.start_server()
    maps = open_map_store(f"sqlite:///{stack.data / 'pitstop.db'}")
    for begin in range(0, ENTRIES, PAGE):
        maps.put_all("cars", ((f"vin-{number}", f'{{"owner": "owner {number}"}}') for number in range(begin, begin + PAGE)))
    client.map("few").put_all({f"vin-{number}": {"owner": "somebody"} for number in range(10)})
    for name in ("cars", "few"):
        client.sql(f"CREATE MAPPING {name} (__key VARCHAR, owner VARCHAR) TYPE IMap")
    by_key = median_seconds(lambda: next(client.sql("SELECT owner FROM cars WHERE __key = 'vin-7777'")))
    few = median_seconds(lambda: next(client.sql("SELECT * FROM few")))
    began = time.perf_counter()
    assert [row["n"] for row in client.sql("SELECT COUNT(*) AS n FROM cars")] == [ENTRIES]
    return by_key, few, time.perf_counter() - began


def main():
    compiled = median_seconds(compile_once)
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), spares=0) as stack:
        by_key, few, whole = selects(stack)
    print(json.dumps({"compiled": compiled, "by_key": by_key, "few": few, "whole": whole}))


if __name__ == "__main__":
    main()
