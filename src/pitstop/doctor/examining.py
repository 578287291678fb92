"""Reads a checkpoint whole: facts and findings."""

from __future__ import annotations

from pitstop.doctor.epochs import read_logs
from pitstop.doctor.examination import Examination
from pitstop.doctor.facts import Checkpoint
from pitstop.doctor.files import Tree
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.health import health_of
from pitstop.doctor.inspecting import USUAL_BYTES, Inspector
from pitstop.doctor.jobs import job_facts
from pitstop.doctor.operators import read_operators
from pitstop.doctor.reading_sources import read_sources
from pitstop.doctor.releases import release_of
from pitstop.doctor.stores import is_temporary
from pitstop.errors import UsageError
from pitstop.kit.counts import counted

_TOPS = ("metadata", "offsets", "commits", "sources", "state")
_CODEC = "spark.sql.streaming.stateStore.compression.codec"


def examine(tree: Tree, whole: bool = False) -> Checkpoint:
    """Return the facts and findings of a checkpoint. ``whole``: every byte that a restart reads, however many there are.

    UsageError if the folder is no checkpoint.
    """
    if not ({"offsets", "commits"} & tree.children.get("", set())) and "metadata" not in tree.names(""):
        raise UsageError(
            f"Folder {tree.address} is no checkpoint: it has none of offsets, commits and metadata. "
            "Give the checkpointLocation of a streaming query."
        )
    inspector = Inspector(tree, None if whole else USUAL_BYTES)
    examination = Examination(inspector)
    logs = read_logs(examination)
    inspector.codec = logs.settings.get(_CODEC, "lz4")
    job = job_facts(examination)
    sources = read_sources(examination, logs, job)
    operators, rocksdb = read_operators(examination, logs, job)
    health_of(examination, logs, operators)
    _unreadable(examination)
    _temporaries(examination)
    _coverage(examination)
    names = [facts for files in tree.folders.values() for name, facts in files.items() if not name.startswith(".")]
    order = list(Severity)
    return Checkpoint(
        address=tree.address,
        query_id=logs.query_id,
        release=release_of(logs.settings),
        rocksdb=rocksdb,
        job=job.name,
        logs=logs.facts,
        checkpoint_format=2 if logs.has_ids else 1,
        sources=sources,
        operators=operators,
        settings=logs.settings,
        files=len(names),
        bytes=sum(facts.size for facts in names),
        findings=tuple(sorted(examination.findings, key=lambda finding: order.index(finding.severity))),
    )


def _unreadable(examination: Examination) -> None:
    for path, reason in sorted(examination.tree.unreadable.items()):
        severity = Severity.WARNING if path.partition("/")[0] in _TOPS else Severity.NOTE
        if severity is Severity.WARNING and reason.startswith("cannot"):
            severity = Severity.DAMAGE
        examination.find(
            Code.PATH_UNREADABLE,
            severity,
            f"{path} {reason}: nothing is known of what it holds.",
            [path],
            advice="Examine it as the user of the query, and in the folder that a link leads to.",
        )


def _temporaries(examination: Examination) -> None:
    names = [
        f"{folder}/{name}" if folder else name
        for folder, files in examination.tree.folders.items()
        for name in files
        if is_temporary(name)
    ]
    if names:
        examination.find(
            Code.TEMPORARY_FILES,
            Severity.NOTE,
            f"{counted(len(names), 'temporary file')} of writers that were cut off, or that are writing now.",
            names,
            advice="While no query runs on the checkpoint they can be removed.",
        )


def _coverage(examination: Examination) -> None:
    coverage = examination.inspector.coverage
    if coverage.by_ends:
        examination.find(
            Code.CHECKED_IN_PART,
            Severity.NOTE,
            f"Of {counted(coverage.by_ends, 'large file')} of state ({coverage.by_ends_bytes:,} bytes) only size, beginning "
            f"and end were looked at; {counted(coverage.whole, 'file')} ({coverage.whole_bytes:,} bytes) were read whole.",
            advice="Give --whole to read every byte.",
        )
