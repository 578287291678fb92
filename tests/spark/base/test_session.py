"""A session of Spark as the processes of Pitstop start it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from pitstop.spark.base.session import STAGE_THREADS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_the_threads_that_start_stages_stay_few_however_many_epochs_there_are(spark):
    """Spark keeps a thread for each stage of the last minute, up to 1,024 in each of these pools."""
    with ThreadPoolExecutor(4) as several:
        list(several.map(lambda _: spark.range(2).repartition(2).count(), range(STAGE_THREADS + 40)))
    every = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    names = [each.getThreadName() for each in every.getThreadInfo(every.getAllThreadIds()) if each]
    for pool in ("shuffle-exchange-", "ResultQueryStageExecution-"):
        assert STAGE_THREADS // 2 <= sum(name.startswith(pool) for name in names) <= STAGE_THREADS
