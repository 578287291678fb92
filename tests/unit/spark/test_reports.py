"""Reports of Spark on a query, as it writes them, also where PySpark's own readers fail."""

import json
from types import SimpleNamespace

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress

from pitstop.spark.internals.reports import last_report, recent_reports

SOURCE = {"description": "files", "startOffset": "1", "endOffset": "1", "latestOffset": None, "numInputRows": 0}
WHOLE = {
    "id": "5b37b58b-30ba-424c-8edb-52c3ca371dc2",
    "runId": "13021bed-9b9d-46e3-9254-e076b369605d",
    "name": None,
    "timestamp": "2026-11-30T18:00:00.000Z",
    "batchId": 3,
    "batchDuration": 0,
    "durationMs": {"addBatch": 0},
    "stateOperators": [],
    "sources": [SOURCE],
    "sink": {"description": "sink", "numOutputRows": -1},
}


def query(*reports):
    told = [SimpleNamespace(json=lambda report=report: json.dumps(report)) for report in reports]
    return SimpleNamespace(_jsq=SimpleNamespace(lastProgress=lambda: told[-1] if told else None, recentProgress=lambda: told))


def test_a_report_of_an_epoch_that_took_no_time_has_rates_of_nothing():
    with pytest.raises(KeyError):
        StreamingQueryProgress.fromJson(WHOLE)  # this module may go once PySpark reads it
    report = last_report(query(WHOLE))
    assert (report.batchId, report.sources[0].inputRowsPerSecond, report.sources[0].processedRowsPerSecond) == (3, 0.0, 0.0)


def test_rates_stay_as_they_are():
    rates = {"inputRowsPerSecond": 5.0, "processedRowsPerSecond": 2.5}
    (report,) = recent_reports(query(WHOLE | {"sources": [SOURCE | rates]}))
    assert (report.sources[0].inputRowsPerSecond, report.sources[0].processedRowsPerSecond) == (5.0, 2.5)


def test_a_query_without_a_report_has_none():
    assert last_report(query()) is None
    assert recent_reports(query()) == []
