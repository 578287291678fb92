"""The doctor says of a recorded checkpoint what the script that recorded it knows."""

import ast
from datetime import datetime

import pytest

from pitstop.doctor.facts import OperatorKind
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.releases import RELEASES
from tests.unit.doctor.recorded import facts_of, names, report_of

KINDS = {
    "stateStoreSave": OperatorKind.AGGREGATE,
    "sessionWindowStateStoreSaveExec": OperatorKind.SESSION,
    "dedupe": OperatorKind.DEDUPLICATE,
    "dedupeWithinWatermark": OperatorKind.DEDUPLICATE_WITHIN,
    "symmetricHashJoin": OperatorKind.JOIN,
    "applyInPandasWithState": OperatorKind.GROUP_STATE,
    "transformWithStateInPySparkExec": OperatorKind.PROCESSOR,
}
PROVIDERS = {"HDFSBackedStateStoreProvider": "HDFS-backed", "RocksDBStateStoreProvider": "RocksDB"}


@pytest.fixture(params=names(), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def recorded(request, checkpoints):
    release, scenario = request.param
    folder = checkpoints / release / scenario
    return release, facts_of(checkpoints, release, scenario), report_of(folder / "checkpoint")


def milliseconds(moment):
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def test_query_epochs_and_formats(recorded):
    release, facts, report = recorded
    assert report.query_id == facts["query_id"]
    assert (report.logs.planned, report.logs.committed) == (facts["planned"], facts["committed"])
    assert (report.logs.oldest_planned, report.logs.oldest_committed) == (0, 0)
    assert report.checkpoint_format == facts["checkpoint_format"]
    assert report.logs.offset_format == (2 if "named_sources" in facts and release != "4.2" else 1)
    assert report.settings["spark.sql.shuffle.partitions"] == str(facts["partitions"])


def test_the_release_is_among_those_that_it_names(recorded):
    release, _, report = recorded
    first, _, rest = report.release.partition(" ")
    last = RELEASES[-1] if rest == "or later" else rest.removeprefix("to ") or first
    assert RELEASES.index(first) <= RELEASES.index(release) <= RELEASES.index(last)


def test_the_watermark_of_the_last_epoch(recorded):
    _, facts, report = recorded
    watermark = report.logs.watermark_ms
    if facts["planned"] > facts["committed"]:
        # Epoch 1 has read rows up to 00:00:15, ten seconds before the mark; its commit says so for the epoch after it.
        assert watermark == milliseconds("2026-01-01T00:00:05Z")
    elif facts["watermark"] is not None and facts["keys"] != [["name"]] and facts["operators"]:
        assert watermark == milliseconds(facts["watermark"])


def test_sources_in_their_own_terms(recorded):
    _, facts, report = recorded
    assert [source.kind for source in report.sources] == facts["sources"]
    assert [source.name for source in report.sources] == facts.get("named_sources", [None] * len(report.sources))
    if facts["planned"] == facts["committed"]:
        # Spark 4.0 reports offsets as Python writes them.
        offsets = [ast.literal_eval(text) if isinstance(text, str) else text for text in facts["end_offsets"]]
        assert [source.offset for source in report.sources] == offsets
    for source in report.sources:
        if source.kind == "files":
            assert source.details["files"] == len(facts["files"])
            assert source.details["newest"].endswith(f"/{facts['files'][-1]}")


def test_operators(recorded):
    _, facts, report = recorded
    assert [operator.kind for operator in report.operators] == [KINDS[name] for name in facts["operators"]]
    for operator, reported, keys in zip(report.operators, facts["reported_operators"], facts["keys"], strict=True):
        assert operator.spark_name in (reported, None)
        assert operator.provider == PROVIDERS[facts["provider"]]
        assert operator.expected_partitions == facts["partitions"] == len(operator.partitions)
        assert operator.version == facts["committed"] + 1
        assert all(partition.restart_bytes > 0 for partition in operator.partitions)
        if operator.kind is OperatorKind.SESSION:
            assert [column.name for column in operator.families[0].keys] == ["name", "sessionStartTime"]
        elif operator.kind is OperatorKind.JOIN:
            assert [column.type for column in operator.families[0].keys] == ["bigint"]
            assert {family.name.partition("-")[0] for family in operator.families} >= {"left", "right"}
        elif operator.kind is not OperatorKind.PROCESSOR:
            assert [column.name for column in operator.families[0].keys] == keys
        if operator.kind is OperatorKind.PROCESSOR:
            assert {family.name for family in operator.families} >= set(facts["variables"])


def test_rocksdb_counts_its_keys(recorded):
    _, facts, report = recorded
    counted = [operator for operator in report.operators if operator.keys is not None and operator.replayed == 0]
    if counted and facts["operators"] in (["stateStoreSave"], ["dedupe"], ["sessionWindowStateStoreSaveExec"]):
        assert [operator.keys for operator in counted] == facts["rows"]


def test_nothing_is_damaged(recorded):
    _, facts, report = recorded
    assert not report.is_damaged, report.findings
    codes = {finding.code for finding in report.findings if finding.severity is Severity.WARNING}
    assert (Code.EPOCH_UNFINISHED in codes) == (report.logs.planned > report.logs.committed)
    endless = (["dedupe"], ["stateStoreSave"], ["applyInPandasWithState"])
    if facts["keys"] in ([["id"]], [["value"]], [["name"]]) and facts["operators"] in endless:
        assert Code.STATE_NEVER_ENDS in codes
    elif facts["operators"] == ["stateStoreSave"]:
        assert Code.STATE_NEVER_ENDS not in codes
