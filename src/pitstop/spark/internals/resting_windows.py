"""Windows that are skipped in epochs in which none of them can end (RestingWindows.java)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from math import gcd

from pyspark.sql import SparkSession

from pitstop.spark.internals.java_code import inject_columnar, new, shared_class

_INJECTOR = "RestingWindows"
_INJECTED, _SLIDE = "spark.pitstop.resting", "spark.pitstop.slide."
"""The setting of a context that says that the rule is there; the prefix of those of a session that give the slide in ms of a
window, whose column's name follows."""

_SETTING = threading.Lock()


def let_windows_rest(spark: SparkSession, slides: Mapping[str, int]) -> None:
    """Let the query that starts next in this session look at its windows only in epochs in which one of them may end.

    ``slides``: the name of a window's column in the key of its state -> its slide in ms; it ends at a multiple of that.
    """
    with _SETTING:
        for column, slide in slides.items():
            # Of two jobs of one session, stages of one name may differ in their slides: the ends of both are multiples of this.
            before = int(spark.conf.get(f"{_SLIDE}{column}", None) or 0)
            spark.conf.set(f"{_SLIDE}{column}", str(gcd(before, slide)))
        if slides:
            inject_columnar(spark, _INJECTED, lambda: new(spark, shared_class(spark, _INJECTOR)))
