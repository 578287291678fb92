"""Cars that were too fast three times in a row. The state is that of a processor written for Spark (transformWithState)."""

from pathlib import Path

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

import pitstop as ps

OUTPUT = "vin string, speeds array<double>"


class Speeding(StatefulProcessor):
    """Keeps the speeds of a car since it was last within the limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def init(self, handle):
        self.fast = handle.getListState("fast", "speed double")

    def handleInputRows(self, key, rows, timerValues):
        speeds = [speed for (speed,) in self.fast.get()]
        for row in sorted(rows, key=lambda row: row.time):
            speeds = [*speeds, row.speed][:4] if row.speed > self.limit else []  # a fourth one tells that three were told
            if len(speeds) == 3:
                yield Row(vin=key[0], speeds=speeds)
        if speeds:
            self.fast.put([(speed,) for speed in speeds])
        else:
            self.fast.clear()

    def close(self):
        pass


@ps.job
def speeding(pings: Path, limit: float = 130.0) -> ps.Pipeline:
    def watched(rows):
        return rows.groupBy("vin").transformWithState(
            statefulProcessor=Speeding(limit), outputStructType=OUTPUT, outputMode="Append", timeMode="None"
        )

    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(str(pings), schema="vin string, speed double, time timestamp"), name="pings")
    rows.stateful("speeding", watched).write_to(ps.sinks.logger("{vin} was too fast three times: {speeds}"), name="alerts")
    return p
