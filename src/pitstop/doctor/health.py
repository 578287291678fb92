"""Findings on the course of a query: its watermark, the growth and spread of its state, what a restart has to read."""

from __future__ import annotations

import itertools

from pitstop.doctor.epochs import EpochLogs
from pitstop.doctor.examination import Examination
from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.growth import sizes_over_time
from pitstop.kit.clock import days_ahead, iso
from pitstop.kit.counts import counted

USUAL_REPLAY = 10
"""The changes between two snapshots, as Spark is set usually: spark.sql.streaming.stateStore.minDeltasForSnapshot."""
LONG_REPLAY = 3 * USUAL_REPLAY
STANDING_EPOCHS = 50
SKEWED = 4.0
"""A partition of so many times the mean is skewed, from so many bytes on."""
SKEWED_BYTES = 1 << 20
GROWN = 1.5
GROWING_VERSIONS = 10
"""The first versions of a query always grow."""
_MIN_DELTAS = "spark.sql.streaming.stateStore.minDeltasForSnapshot"


def health_of(examination: Examination, logs: EpochLogs, operators: tuple[Operator, ...]) -> None:
    """Add the findings."""
    _watermark(examination, logs)
    _settings(examination, logs)
    for operator in operators:
        _replay(examination, operator)
        _skew(examination, operator)
        _endless(examination, operator)
        _growth(examination, operator)
        _twice(examination, logs, operator)
    _older(examination, logs, operators)


def _watermark(examination: Examination, logs: EpochLogs) -> None:
    numbers = sorted(logs.planned)
    marks = [logs.planned[number].watermark_ms for number in numbers]
    for before, after in itertools.pairwise(numbers):
        if logs.planned[after].watermark_ms < logs.planned[before].watermark_ms:
            earlier, later = (_moment(logs.planned[number].watermark_ms) for number in (before, after))
            examination.find(
                Code.WATERMARK_WENT_BACK,
                Severity.WARNING,
                f"The watermark went back from {earlier} in epoch {before} to {later} in epoch {after}: a commit was lost, or "
                "the folder has files of an older copy. Rows between the two are no longer late, and windows come twice.",
                [f"offsets/{after}"],
            )
            break
    last = logs.last
    if last is not None and (days := days_ahead(last.watermark_ms, last.planned_ms / 1000)):
        examination.find(
            Code.WATERMARK_AHEAD,
            Severity.WARNING,
            f"The watermark, {_moment(last.watermark_ms)}, was {counted(days, 'day')} ahead of the clock. Spark drops every row "
            "with an earlier time as late. One row with a wrong time is enough to cause this.",
            advice="A watermark never goes back: correct the time at the source, and begin with a new checkpoint.",
        )
    recent = numbers[-STANDING_EPOCHS:]
    if len(recent) == STANDING_EPOCHS and marks[-1] > 0 and len({logs.planned[number].watermark_ms for number in recent}) == 1:
        first, newest = logs.planned[recent[0]], logs.planned[recent[-1]]
        if first.offsets != newest.offsets:
            examination.find(
                Code.WATERMARK_STANDS,
                Severity.WARNING,
                f"The watermark has stood at {_moment(newest.watermark_ms)} for {counted(STANDING_EPOCHS, 'epoch')} or more, "
                "although sources gave rows. Windows do not end, and state grows. The slowest source holds the watermark back.",
                advice="Look for a source, or a partition of one, that gives no rows or only old ones.",
            )


def _settings(examination: Examination, logs: EpochLogs) -> None:
    if len(logs.planned) < 2:
        return
    oldest = logs.planned[min(logs.planned)].settings
    changed = sorted(key for key in logs.settings.keys() & oldest.keys() if logs.settings[key] != oldest[key])
    if changed:
        texts = ", ".join(f"{key} from {oldest[key]} to {logs.settings[key]}" for key in changed[:3])
        examination.find(
            Code.SETTINGS_DIFFER,
            Severity.NOTE,
            f"Settings that the checkpoint pins have changed since epoch {min(logs.planned)}: {texts}.",
        )


def _replay(examination: Examination, operator: Operator) -> None:
    if operator.replayed <= LONG_REPLAY:
        return
    files = f"{counted(operator.replayed, 'file')} of changes in a partition"
    if operator.snapshot_version is None:
        examination.find(
            Code.NO_SNAPSHOT,
            Severity.WARNING,
            f"Operator {operator.number} has no snapshot in some partition: a restart replays all {files}.",
            operator=operator.number,
            advice=f"Spark makes snapshots in its maintenance, after {_MIN_DELTAS} changes: look for errors in its log.",
        )
    else:
        examination.find(
            Code.LONG_REPLAY,
            Severity.WARNING,
            f"A restart of operator {operator.number} replays {files}. About {USUAL_REPLAY} are usual.",
            operator=operator.number,
            advice=f"Make snapshots more often with {_MIN_DELTAS} or spark.sql.streaming.stateStore.maintenanceInterval.",
        )


def _skew(examination: Examination, operator: Operator) -> None:
    largest = max(operator.partitions, key=lambda partition: partition.restart_bytes, default=None)
    skew, total = operator.skew, operator.restart_bytes
    if largest is None or skew is None or largest.restart_bytes < SKEWED_BYTES or len(operator.partitions) < 2:
        return
    if skew >= SKEWED or largest.restart_bytes > 0.9 * total:
        examination.find(
            Code.SKEW,
            Severity.WARNING,
            f"Partition {largest.number} of operator {operator.number} holds {largest.restart_bytes / total:.0%} of its state, "
            f"{skew:.1f} times the mean: one key, or a few, have most of the rows.",
            [f"state/{operator.number}/{largest.number}"],
            operator=operator.number,
            advice="More partitions do not help one key. Split it: aggregate by the key and a number first, then by the key.",
        )


def _endless(examination: Examination, operator: Operator) -> None:
    """Find state whose schema says that nothing ends it."""
    if not operator.families:
        return
    keys = [column for family in operator.families for column in family.keys]
    values = [column for family in operator.families for column in family.values]
    has_time = any(column.watermark_delay_ms is not None for column in keys)
    has_times = has_time or any(column.watermark_delay_ms is not None for column in values)
    sentence = {
        OperatorKind.AGGREGATE: None if has_time else "its keys hold no event time with a watermark",
        OperatorKind.DEDUPLICATE: None if has_time else "its columns hold no event time with a watermark",
        OperatorKind.JOIN: None if has_times else "neither side has an event time with a watermark",
        OperatorKind.GROUP_STATE: None
        if any(column.name == "timeoutTimestamp" for column in values)
        else "it has no timeout, so only your function removes keys",
    }.get(operator.kind)
    if sentence is not None:
        examination.find(
            Code.STATE_NEVER_ENDS,
            Severity.WARNING,
            f"State of operator {operator.number} ({operator.kind}) never ends: {sentence}. It grows with each new key.",
            operator=operator.number,
            advice="Add a watermark and group by its window or time, or use dropDuplicatesWithinWatermark.",
        )


def _growth(examination: Examination, operator: Operator) -> None:
    sizes = sizes_over_time(examination, operator)
    if len(sizes) < 3 or sizes[-1][0] - sizes[0][0] < GROWING_VERSIONS:
        return
    numbers = [size for _, size in sizes]
    rises = all(after > before for before, after in itertools.pairwise(numbers))
    if rises and numbers[-1] >= GROWN * numbers[0]:
        (first, small), (last, large) = sizes[0], sizes[-1]
        examination.find(
            Code.STATE_GROWS,
            Severity.WARNING,
            f"State of operator {operator.number} grows: its largest partition had {small:,} bytes in version {first}, and "
            f"{large:,} in version {last}. Each of {len(sizes)} compared snapshots is larger than the one before.",
            operator=operator.number,
            advice="Check whether the watermark rises, and whether new keys arrive that never end.",
        )


def _twice(examination: Examination, logs: EpochLogs, operator: Operator) -> None:
    if not logs.has_ids:
        return
    tree = examination.tree
    names = []
    for partition in operator.partitions:
        files = tree.names(f"state/{operator.number}/{partition.number}")
        versions: dict[str, str] = {}
        for name in sorted(files):
            version, separator, _ = name.partition("_")
            if separator and name.endswith(".changelog") and versions.setdefault(version, name) != name:
                names.append(f"state/{operator.number}/{partition.number}/{name}")
    if names:
        examination.find(
            Code.STATE_WRITTEN_TWICE,
            Severity.NOTE,
            f"{counted(len(names), 'file')} of operator {operator.number} hold changes of an epoch that was written more than "
            "once. Spark tried a task again, an epoch ran again, or two runs used the checkpoint at once. "
            "The commits say which file counts.",
            names,
            operator=operator.number,
        )


def _older(examination: Examination, logs: EpochLogs, operators: tuple[Operator, ...]) -> None:
    total, needed = sum(operator.bytes for operator in operators), sum(operator.restart_bytes for operator in operators)
    if total > needed and logs.planned_numbers:
        examination.find(
            Code.OLDER_EPOCHS,
            Severity.NOTE,
            f"A restart reads {needed:,} of {total:,} bytes of state. The others belong to older epochs, from "
            f"{logs.planned_numbers[0]} on, to which the query can go back.",
            advice="spark.sql.streaming.minBatchesToRetain sets how many epochs Spark keeps.",
        )


def _moment(milliseconds: int) -> str:
    return str(iso(milliseconds / 1000))
