"""Findings on checkpoints that are put together file by file."""

import json
import re
import shutil
from pathlib import Path

import pytest

from pitstop.doctor.findings import Code, Severity
from pitstop.errors import UsageError
from tests.unit.doctor.recorded import report_of

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"
END = b"LZ4Block\x15" + bytes(12)
CONF = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.stateStore.providerClass": "a.HDFSBackedStateStoreProvider"}
KAFKA = '{"orders":{"0":12,"10":7,"2":5}}'


class Checkpoint:
    def __init__(self, folder):
        self.folder = folder
        self.write("metadata", '{"id":"the-query"}')

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def plan(self, epoch, *offsets, watermark=0, at=1_767_225_600_000, conf=None, version="v1"):
        facts = {"batchWatermarkMs": watermark, "batchTimestampMs": at, "conf": CONF if conf is None else conf}
        self.write(f"offsets/{epoch}", "\n".join([version, json.dumps(facts), *(offsets or ("-",))]))

    def commit(self, epoch, watermark=0):
        self.write(f"commits/{epoch}", f'v1\n{{"nextBatchWatermarkMs":{watermark}}}')

    def run(self, epochs, **facts):
        for epoch in range(epochs):
            self.plan(epoch, **facts)
            self.commit(epoch)

    def state(self, versions, size=0, operator=0, partitions=2, ending="delta"):
        """Write a file of each version, as large as ``size`` and its end."""
        for partition in range(partitions):
            for version in versions:
                block = b"LZ4Block\x15" + size.to_bytes(4, "little") + (size + 1).to_bytes(4, "little") + bytes(4) + bytes(size)
                self.write(f"state/{operator}/{partition}/{version}.{ending}", (block if size else b"") + END)

    def report(self):
        return report_of(self.folder)

    def codes(self, *severities):
        return {finding.code for finding in self.report().findings if not severities or finding.severity in severities}


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "checkpoint")


def schema(keys, values):
    """Return a schema file of format 2."""

    def text(columns):
        fields = [{"name": name, "type": kind, "nullable": True, "metadata": more} for name, kind, more in columns]
        content = json.dumps({"type": "struct", "fields": fields}).encode()
        return (1).to_bytes(4, "big") + len(content).to_bytes(2, "big") + content

    return b"\x00\x02v2" + text(keys) + text(values)


def test_every_code_has_a_section():
    sections = re.findall(r"^### (.+)$", PAGE.read_text(), re.MULTILINE)
    assert sections == [str(code) for code in Code]


def test_a_query_that_has_just_begun(checkpoint):
    report = checkpoint.report()
    assert {finding.code for finding in report.findings} == {Code.NO_EPOCH}
    assert (report.logs.planned, report.logs.committed, report.is_damaged) == (None, None, False)


def test_a_folder_of_something_else(tmp_path):
    (tmp_path / "notes.txt").write_text("no checkpoint")
    with pytest.raises(UsageError, match="is not a checkpoint: it has no offsets, commits or metadata"):
        report_of(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        report_of(tmp_path / "away")


def test_offsets_of_kafka_by_partition(checkpoint):
    checkpoint.plan(0, KAFKA)
    (source,) = checkpoint.report().sources
    assert (source.kind, source.summary) == ("kafka", "topic orders: 0 at 12, 2 at 5, 10 at 7")
    assert source.details == {"topics": {"orders": {0: 12, 10: 7, 2: 5}}}


@pytest.mark.parametrize(
    ("offset", "kind", "summary"),
    [
        ("-", "not begun", "not begun"),
        ("42", "number", "42"),
        ('{"offset":30,"timestamp":3000}', "rate-micro-batch", "row 30, at 3000 ms"),
        ('{"reservoirId":"t","reservoirVersion":5,"index":1}', "delta", "version 5 of table t, file 1"),
        ('{"version":1,"snapshot_id":7,"position":3,"scan_all_files":false}', "iceberg", "snapshot 7, file 3"),
        ('{"page":"x"}', "custom", '{"page":"x"}'),
    ],
)
def test_other_offsets_in_their_own_terms(checkpoint, offset, kind, summary):
    checkpoint.plan(0, offset)
    (source,) = checkpoint.report().sources
    assert (source.kind, source.summary) == (kind, summary)


def test_a_rate_source_is_known_by_its_start_time(checkpoint):
    checkpoint.plan(0, "42")
    checkpoint.write("sources/0/0", "v1\n1767225600000")
    assert [(source.kind, source.summary) for source in checkpoint.report().sources] == [("rate", "42 seconds of rows")]


def test_compacted_logs_of_files(checkpoint):
    checkpoint.run(12)
    checkpoint.plan(11, '{"logOffset":10}')
    entries = [f'{{"path":"file:///in/{number}","timestamp":{number},"batchId":{number}}}' for number in range(11)]
    checkpoint.write("sources/0/9.compact", "\n".join(["v1", *entries[:10]]))
    checkpoint.write("sources/0/10", f"v1\n{entries[10]}")
    report = checkpoint.report()
    assert report.sources[0].details["files"] == 11
    assert not report.is_damaged
    (checkpoint.folder / "sources/0/9.compact").unlink()
    assert Code.SOURCE_LOG_MISSING in checkpoint.codes(Severity.DAMAGE)


def test_an_epoch_that_is_not_committed(checkpoint):
    checkpoint.run(3)
    checkpoint.plan(3)
    report = checkpoint.report()
    assert (report.logs.planned, report.logs.committed, report.is_damaged) == (3, 2, False)
    assert checkpoint.codes() == {Code.EPOCH_UNFINISHED}


def test_logs_that_do_not_fit_together(checkpoint):
    checkpoint.run(3)
    checkpoint.plan(3)
    checkpoint.plan(4)
    assert checkpoint.codes(Severity.DAMAGE) == {Code.OFFSETS_AHEAD}
    checkpoint.commit(6)
    assert checkpoint.codes(Severity.DAMAGE) == {Code.COMMITS_AHEAD}


def test_gaps(checkpoint):
    checkpoint.run(8)
    (checkpoint.folder / "offsets/3").unlink()
    assert checkpoint.codes() == {Code.LOG_GAP}
    (checkpoint.folder / "offsets/6").unlink()
    assert checkpoint.codes(Severity.DAMAGE) == {Code.OFFSETS_MISSING}


def test_logs_purged_at_the_beginning_are_no_gap(checkpoint):
    checkpoint.run(8)
    for name in ("offsets/0", "offsets/1", "commits/0"):
        (checkpoint.folder / name).unlink()
    assert checkpoint.codes() == set()


def test_a_later_format(checkpoint):
    checkpoint.run(3)
    checkpoint.plan(2, version="v9")
    assert Code.LATER_FORMAT in checkpoint.codes(Severity.DAMAGE)


def test_the_watermark_goes_back(checkpoint):
    for epoch, watermark in enumerate([1000, 5000, 3000]):
        checkpoint.plan(epoch, watermark=watermark)
        checkpoint.commit(epoch)
    assert checkpoint.codes() == {Code.WATERMARK_WENT_BACK}


def test_a_watermark_ahead_of_the_clock(checkpoint):
    day = 86_400_000
    checkpoint.plan(0, watermark=1_767_225_600_000 + 2 * day)
    checkpoint.commit(0)
    (finding,) = checkpoint.report().findings
    assert (finding.code, "was 2 days ahead of the clock" in finding.sentence) == (Code.WATERMARK_AHEAD, True)


def test_a_watermark_that_stands(checkpoint):
    for epoch in range(60):
        checkpoint.plan(epoch, str(epoch), watermark=5000)
        checkpoint.commit(epoch)
    assert checkpoint.codes() == {Code.WATERMARK_STANDS}


def test_a_silent_source_is_no_standing_watermark(checkpoint):
    for epoch in range(60):
        checkpoint.plan(epoch, "7", watermark=5000)
        checkpoint.commit(epoch)
    assert checkpoint.codes() == set()


def test_another_number_of_sources(checkpoint):
    checkpoint.run(2)
    checkpoint.plan(1, "-", "-")
    assert Code.SOURCES_DIFFER in checkpoint.codes(Severity.DAMAGE)


def test_changed_settings(checkpoint):
    checkpoint.run(2)
    checkpoint.plan(1, conf=CONF | {"spark.sql.shuffle.partitions": "4"})
    assert checkpoint.codes() == {Code.SETTINGS_DIFFER}


def test_partitions_and_changes_that_are_missing(checkpoint):
    checkpoint.run(4)
    checkpoint.state(range(1, 5))
    checkpoint.write("state/0/0/_metadata/schema", schema([("at", "timestamp", {"spark.watermarkDelayMs": 5})], []))
    assert not checkpoint.report().is_damaged
    (checkpoint.folder / "state/0/1/2.delta").unlink()
    (finding,) = (each for each in checkpoint.report().findings if each.severity is Severity.DAMAGE)
    assert (finding.code, finding.files) == (Code.STATE_MISSING, ("state/0/1/2.delta",))
    for path in (checkpoint.folder / "state/0/1").iterdir():
        path.unlink()
    assert checkpoint.codes(Severity.DAMAGE) == {Code.PARTITION_MISSING}


def test_state_of_more_partitions_than_there_are(checkpoint):
    checkpoint.run(4)
    checkpoint.state(range(1, 5), partitions=3)
    assert Code.PARTITIONS_DIFFER in checkpoint.codes()


@pytest.mark.parametrize(("snapshot", "code"), [(None, Code.NO_SNAPSHOT), (2, Code.LONG_REPLAY)])
def test_many_changes_to_replay(checkpoint, snapshot, code):
    checkpoint.run(40)
    checkpoint.state(range(1, 41))
    if snapshot is not None:
        checkpoint.state([snapshot], ending="snapshot")
    report = checkpoint.report()
    assert code in {finding.code for finding in report.findings}
    assert report.operators[0].replayed == (40 if snapshot is None else 38)


def test_skew(checkpoint):
    checkpoint.run(1, conf=CONF | {"spark.sql.shuffle.partitions": "8"})
    checkpoint.state([1], partitions=8, size=10)
    checkpoint.state([1], partitions=1, size=2 << 20)
    (finding,) = (each for each in checkpoint.report().findings if each.code is Code.SKEW)
    assert "Partition 0 of operator 0 holds 100% of its state, 8.0 times the mean" in finding.sentence


def test_state_that_grows(checkpoint):
    checkpoint.run(30)
    checkpoint.state(range(28, 31))
    for number, version in enumerate((7, 17, 27)):
        checkpoint.state([version], size=1000 * (number + 1), ending="snapshot")
    assert Code.STATE_GROWS in checkpoint.codes()
    checkpoint.state([17], size=5000, ending="snapshot")
    assert Code.STATE_GROWS not in checkpoint.codes()


def test_temporary_files(checkpoint):
    checkpoint.run(2)
    checkpoint.write("offsets/.2.1234.tmp", "")
    assert checkpoint.codes() == {Code.TEMPORARY_FILES}


def test_large_files_are_read_by_their_ends(checkpoint, monkeypatch):
    monkeypatch.setattr("pitstop.doctor.examining.USUAL_BYTES", 100)
    checkpoint.run(2)
    checkpoint.state([1, 2], size=4096)
    assert Code.CHECKED_IN_PART in checkpoint.codes()
    assert not checkpoint.report().is_damaged
    path = checkpoint.folder / "state/0/0/2.delta"
    path.write_bytes(path.read_bytes()[:-5])
    assert checkpoint.codes(Severity.DAMAGE) == {Code.STATE_UNREADABLE}
    assert Code.CHECKED_IN_PART not in {finding.code for finding in report_of(checkpoint.folder, whole=True).findings}


def test_folders_of_named_sources_without_names_in_the_offset_log(checkpoint):
    """Spark 4.2 names folders alone: nobody knows which of several sources a folder belongs to."""
    checkpoint.plan(0, '{"logOffset":0}', '{"logOffset":0}')
    checkpoint.commit(0)
    for name in ("orders", "returns"):
        checkpoint.write(f"sources/{name}/0", 'v1\n{"path":"file:///in/0","timestamp":0,"batchId":0}')
    report = checkpoint.report()
    assert [(source.name, source.summary) for source in report.sources] == [(None, "part 0 of its log")] * 2
    assert not report.is_damaged


def test_stages_of_a_job_of_pitstop(checkpoint):
    checkpoint.run(1)
    checkpoint.state([1])
    facts = {"job_name": "fleet", "sources": [["pings", ""]], "plan": {"operators": [["speed", "frames", 0]]}}
    checkpoint.write("pitstop.json", json.dumps(facts))
    report = checkpoint.report()
    assert (report.job, report.sources[0].name, report.operators[0].stage) == ("fleet", "pings", "speed")
    checkpoint.write("pitstop.json", "{")
    assert checkpoint.report().job is None


def test_operator_metadata_that_are_gone(checkpoint):
    encoding = {"spark.sql.streaming.stateStore.encodingFormat": "unsaferow"}
    checkpoint.run(1, conf=CONF | encoding)
    checkpoint.state([1])
    assert Code.OPERATOR_MISSING in checkpoint.codes(Severity.WARNING)


def test_epochs_that_were_written_twice(checkpoint):
    checkpoint.run(2)
    ids = json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": {"0": [["b"], ["d"]]}})
    checkpoint.write("commits/1", f"v2\n{ids}")
    for name in ("0/1_a", "0/2_b", "0/2_x", "1/1_c", "1/2_d"):
        checkpoint.write(f"state/0/{name}.changelog", END)
    report = checkpoint.report()
    assert (report.checkpoint_format, report.is_damaged) == (2, False)
    assert [finding.files for finding in report.findings if finding.code is Code.STATE_WRITTEN_TWICE] == [
        ("state/0/0/2_x.changelog",)
    ]
    (checkpoint.folder / "state/0/0/2_b.changelog").unlink()
    damage = [finding for finding in checkpoint.report().findings if finding.severity is Severity.DAMAGE]
    assert [finding.files for finding in damage] == [("state/0/0/2_b.changelog",)]


def test_numbers_that_are_none(checkpoint):
    checkpoint.run(2)
    checkpoint.plan(1, '{"logOffset":0}')
    checkpoint.write("sources/0/0", 'v1\n{"path":"file:///in/0","timestamp":null}\n{"path":"file:///in/1","timestamp":1e999}')
    assert checkpoint.report().sources[0].details["newest_ms"] == 0
    checkpoint.write("commits/1", 'v1\n{"nextBatchWatermarkMs":1e999}')
    assert checkpoint.codes(Severity.DAMAGE) == {Code.COMMIT_UNREADABLE}
    checkpoint.write("offsets/1", 'v1\n{"batchWatermarkMs":1e999,"batchTimestampMs":0}\n-')
    assert checkpoint.codes(Severity.DAMAGE) == {Code.COMMIT_UNREADABLE, Code.OFFSETS_UNREADABLE}


def test_separators_of_lines_within_json(checkpoint):
    checkpoint.plan(0, '{"page":"a\u2028b\u0085c"}')
    assert checkpoint.codes(Severity.DAMAGE) == set()


def test_links_and_files_that_go(checkpoint):
    checkpoint.run(2)
    (checkpoint.folder / "offsets/.2.tmp").symlink_to("away")
    (checkpoint.folder / "loop").symlink_to("loop")
    (checkpoint.folder / "commits/again").symlink_to(checkpoint.folder, target_is_directory=True)
    findings = checkpoint.report().findings
    assert {(finding.code, finding.severity, finding.files) for finding in findings} == {
        (Code.PATH_UNREADABLE, Severity.WARNING, ("commits/again",)),
        (Code.PATH_UNREADABLE, Severity.NOTE, ("loop",)),
    }


def test_epochs_far_apart(checkpoint):
    checkpoint.run(2)
    checkpoint.plan(20240101120000)
    checkpoint.state([1, 2])
    findings = {finding.code: finding for finding in checkpoint.report().findings}
    assert (len(findings[Code.OFFSETS_AHEAD].files), findings[Code.OFFSETS_AHEAD].more_files) == (100, 20240101119898)
    missing = findings[Code.STATE_MISSING]
    assert len(missing.files) + missing.more_files == 2 * 20240101119998


def test_asynchronous_progress_is_no_damage(checkpoint):
    for epoch in (0, 40, 95):
        checkpoint.plan(epoch)
        checkpoint.commit(epoch)
    assert checkpoint.codes() == {Code.SPARSE_LOGS}
    (checkpoint.folder / "commits/95").unlink()
    assert checkpoint.codes() == {Code.SPARSE_LOGS, Code.EPOCH_UNFINISHED}
    (checkpoint.folder / "offsets/40").unlink()
    assert Code.OFFSETS_MISSING in checkpoint.codes(Severity.DAMAGE)


def test_few_versions_do_not_grow(checkpoint):
    checkpoint.run(4)
    for version in range(1, 5):
        checkpoint.state([version], size=1000 * version, ending="snapshot")
    assert Code.STATE_GROWS not in checkpoint.codes()


def test_a_relative_path_is_not_foreign(checkpoints, monkeypatch, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(checkpoints / "4.3" / "processor" / "checkpoint", folder)
    for path in (folder / "state").glob("*/_metadata/v2/*"):
        if path.name.startswith("."):
            path.unlink()
            continue
        path.write_text(re.sub(r'"[^"]*(/state/\d+/[^"]*)"', lambda match: f'"file:{folder}{match[1]}"', path.read_text()))
    monkeypatch.chdir(tmp_path)
    assert report_of("copy").operators[0].families
    assert Code.FOREIGN_PATHS not in {finding.code for finding in report_of("copy").findings}
    assert Code.FOREIGN_PATHS not in {finding.code for finding in report_of(folder / ".." / "copy").findings}
