"""Notes that Pitstop made beside a checkpoint of one of its own jobs, in ``pitstop.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pitstop.doctor.examination import Examination
from pitstop.doctor.logs import UnreadableError
from pitstop.snapshots.checkpoint import FACTS


@dataclass(frozen=True)
class JobFacts:
    """The stages of a job: of each source, and of each stateful operator."""

    name: str | None = None
    sources: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


def job_facts(examination: Examination) -> JobFacts:
    """Return what Pitstop noted; nothing for a query that is none of its jobs, or whose note cannot be read."""
    if examination.tree.facts(FACTS) is None:
        return JobFacts()
    try:
        facts = json.loads(examination.inspector.read(FACTS))
        sources = tuple(f"{stage} (read by {reader})" if reader else str(stage) for stage, reader in facts.get("sources") or ())
        operators = tuple(str(slot[0]) for slot in (facts.get("plan") or {}).get("operators") or ())
        return JobFacts(str(facts.get("job_name") or facts.get("job_id")), sources, operators)
    except (UnreadableError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return JobFacts()
