"""Fails when Spark renames a class or a setting that a session is given."""

import pytest

from pitstop.spark.base.session import STREAM_SETTINGS, optimizer_settings
from pitstop.spark.internals.settings import IN_MEMORY, ROCKSDB, STATE_PROVIDER, state_provider, without_rules

pytestmark = pytest.mark.spark

PACKAGE = "org.apache.spark.sql."


@pytest.mark.parametrize("provider", [ROCKSDB, IN_MEMORY])
def test_the_state_stores_are_still_there(java_class, provider):
    java_class(provider.removeprefix(PACKAGE))


def test_the_optimizers_rules_still_go_by_their_names(java_class):
    (rules,) = optimizer_settings(chained=True).values()
    for rule in rules.split(","):
        java_class(rule.removeprefix(PACKAGE) + "$")


def test_an_excluded_rule_is_not_applied(spark):
    before = spark.conf.get("spark.sql.optimizer.excludedRules", "")
    frame = spark.range(3).selectExpr("id AS a").selectExpr("a + 1 AS b")
    try:
        for key, value in without_rules("CollapseProject").items():
            spark.conf.set(key, value)
        plan = frame.select("*")._jdf.queryExecution().optimizedPlan().toString()
    finally:
        spark.conf.set("spark.sql.optimizer.excludedRules", before)
    assert plan.count("Project") == 2, f"the optimizer no longer heeds the rules that are excluded:\n{plan}"


def test_the_state_store_in_use_is_known(spark):
    assert state_provider(spark) == ROCKSDB == spark.conf.get(STATE_PROVIDER), "the setting of the state store has another name"


def test_all_settings_of_a_session_are_settings_that_spark_knows(spark):
    unknown = [key for key in (*STREAM_SETTINGS, "spark.sql.optimizer.excludedRules") if not spark.conf.isModifiable(key)]
    # The settings of a state store are read by the store itself.
    unknown = [key for key in unknown if ".rocksdb." not in key]
    assert not unknown, f"Spark knows no settings {unknown}"
