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
            f"Folder {tree.address} is not a checkpoint: it has no offsets, commits or metadata. "
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
            f"{path} {reason}, so its content is unknown.",
            [path],
            advice="Examine the checkpoint as the user that runs the query. For a link, examine the folder that it leads to.",
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
            f"{counted(len(names), 'temporary file')} of writers that were cut off or are still writing.",
            names,
            advice="You can remove them while no query uses the checkpoint.",
        )


def _coverage(examination: Examination) -> None:
    coverage = examination.inspector.coverage
    if coverage.by_ends:
        examination.find(
            Code.CHECKED_IN_PART,
            Severity.NOTE,
            f"The doctor checked only size, beginning and end of {counted(coverage.by_ends, 'large file')} of state "
            f"({coverage.by_ends_bytes:,} bytes). It read {counted(coverage.whole, 'file')} "
            f"({coverage.whole_bytes:,} bytes) in full.",
            advice="Give --whole to read every byte.",
        )
