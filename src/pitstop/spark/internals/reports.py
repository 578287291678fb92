"""Spark's reports on the epochs of a query.

PySpark's own readers fail on a report without a rate. Spark leaves a rate out where it is no number: of an epoch that began in
the same millisecond as the one before, or took no millisecond.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

_RATES = {"inputRowsPerSecond": 0.0, "processedRowsPerSecond": 0.0}


def last_report(query: StreamingQuery) -> StreamingQueryProgress | None:
    """Return the last report; None if there is none yet."""
    report = query._jsq.lastProgress()
    return None if report is None else _of(report)


def recent_reports(query: StreamingQuery) -> list[StreamingQueryProgress]:
    """Return the reports that Spark keeps, the oldest first."""
    return [_of(report) for report in query._jsq.recentProgress()]


def _of(report: Any) -> StreamingQueryProgress:
    facts = json.loads(report.json())
    return StreamingQueryProgress.fromJson(facts | {"sources": [_RATES | source for source in facts["sources"]]})
