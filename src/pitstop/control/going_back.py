"""Going back to an earlier version, from the present state or the version's own snapshot: nothing is written twice unasked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pitstop.control.places import sinks_of
from pitstop.control.ports.registry import Registry
from pitstop.errors import IncompatibleError, SnapshotError
from pitstop.model.job import Job, Version
from pitstop.model.operation import GoingBack, StateAtStart
from pitstop.model.report import NEW_SOURCE, OWN_STATE, Report, Verdict
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests


def own_snapshot(registry: Registry, job: Job, version: Version) -> SnapshotRecord | None:
    """Return the latest snapshot of this version, such as the one of the update away from it; None if there is none any more."""
    records = [record for record in registry.snapshots() if record.job_id == job.id and _is_of(record, version)]
    return max(records, key=lambda record: record.epoch, default=None)


def _is_of(record: SnapshotRecord, version: Version) -> bool:
    try:
        return version.lineage is not None and manifests.read(record.path).lineage == version.lineage
    except SnapshotError:
        return False


def written_since(version: int, plan: dict[str, Any], later: Iterable[Version]) -> tuple[str, ...]:
    """Return the sinks of a version's plan whose places later versions have written into: they hold newer rows."""
    later_sinks = [sink for other in later if other.number > version for sink in sinks_of(other.plan)]
    return tuple(sink.name for sink in sinks_of(plan) if any(sink.may_write_where(other) for other in later_sinks))


def check_present(
    job: Job, back: GoingBack, report: Report, plan: dict[str, Any], sinks: tuple[str, ...], own: SnapshotRecord | None
) -> None:
    """Raise IncompatibleError if the version would, unasked, begin with less than it had, or write rows again.

    ``report``: what becomes of the present state. ``sinks``: what would get rows again from its own snapshot.
    """
    lines = [line for line in report.lines if line.verdict is Verdict.NEW]
    missing = [f"{'variables in ' if line.rule == OWN_STATE else ''}'{line.stage}'" for line in lines]
    sources = [line.stage for line in lines if line.rule == NEW_SOURCE]
    if back.start is StateAtStart.EMPTY:
        if sources and _sinks(plan) and not back.write_again:
            raise _refusal(
                f"Version {back.version} of job '{job.display_name}' would read {_named(sources)} from the beginning, and write "
                f"all resulting rows into {_named(_sinks(plan))} once more: give --write-again to allow that.",
                report,
                own,
            )
        return
    if not missing:
        return
    message = (
        f"Version {back.version} of job '{job.display_name}' would start without its state: the present state lacks "
        f"{', '.join(missing)}"
    )
    message += f", and {_named(sources)} would be read from the beginning" if sources else ""
    message += ". The job goes on as it was"
    empty = "--state empty starts without it anyway" + (", with --write-again" if sources and _sinks(plan) else "")
    if own is None:
        raise _refusal(f"{message}. The snapshot of that version no longer exists; {empty}.", report, own)
    again = f", and writes its rows into {_named(sinks)} once more (--write-again)" if sinks else ""
    raise _refusal(
        f"{message}. Its own state is in snapshot '{own.name}' of {_moment(own.created)}: --state snapshot goes back "
        f"to that, reads newer input again{again}; {empty}. For a stage that only has another name, give --renamed NEW=OLD.",
        report,
        own,
    )


def check_snapshot(job: Job, back: GoingBack, report: Report, sinks: tuple[str, ...], own: SnapshotRecord) -> None:
    """Raise IncompatibleError if rows would be written once more although nobody has asked for it."""
    if sinks and not back.write_again:
        raise _refusal(
            f"Version {back.version} of job '{job.display_name}' would read again all input since snapshot '{own.name}' "
            f"({_moment(own.created)}), and write its rows into {_named(sinks)} once more: give --write-again to allow that, "
            "or go on from the present state. The job goes on as it was.",
            report,
            own,
        )


def told_of_snapshot(report: Report, saved: SnapshotManifest) -> Report:
    """Return the report with a note on each source that it is read from an earlier place."""
    sources = Plan.from_dict(saved.plan).sources
    since = f"as of snapshot '{saved.name}' ({_moment(saved.created)}): what came since is read again"
    return report.with_details({line.stage: since for line in report.lines if line.stage in sources})


def _refusal(sentence: str, report: Report, own: SnapshotRecord | None) -> IncompatibleError:
    return IncompatibleError(sentence, report=report.to_dict(), snapshot=own.name if own is not None else None)


def _sinks(plan: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sink.name for sink in sinks_of(plan))


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
