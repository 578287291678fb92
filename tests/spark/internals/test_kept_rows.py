"""Fails when Spark keeps the rows of a local checkpoint elsewhere."""

import pytest

from pitstop.spark.internals.kept_rows import forget_rows

pytestmark = pytest.mark.spark


def test_rows_that_are_kept_without_their_plan_can_be_freed(spark):
    before = spark._jsc.getPersistentRDDs().size()
    rows = spark.range(10).selectExpr("id * 2 AS v").localCheckpoint(eager=False)
    assert rows.agg({"v": "sum"}).collect()[0][0] == 90
    assert rows._jdf.queryExecution().logical().rdd().isCheckpointed(), "localCheckpoint no longer keeps the rows it computed"
    assert spark._jsc.getPersistentRDDs().size() == before + 1, "localCheckpoint keeps its rows elsewhere"
    forget_rows(rows)
    assert spark._jsc.getPersistentRDDs().size() == before, "rows of a local checkpoint are no longer freed by unpersist"
