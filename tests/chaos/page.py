"""docs/chaos.md: what runs have found, a section for each cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.run import Outcome

SECTIONS = {
    "one": (
        "One server, its store a file",
        """
Two members of one core each, and one warm runner. Three jobs with every kind of state, each of whose feeds has 20 events a
second.
""",
    ),
    "two": (
        "Two servers on one PostgreSQL",
        """
Each with a member of one core, and one warm runner at the server that leads. When that one is gone, recovery lasts until the
other one leads, too. The jobs are those of one server.
""",
    ),
    "connected": (
        "Between Kafka, PostgreSQL and an object store",
        """
One server without members, and three other jobs, which read one topic. One writes two topics, one three tables of PostgreSQL,
and one two Delta tables in an object store. The broker is an Apache Kafka of one node. Broker and database die and are started
again on their data, stand still, and answer late. The object store has its objects in memory, so it does not die: it ends each
connection, is silent, answers 503, and answers late. Topics are read by `read_committed`.
""",
    ),
}
"""Cluster -> the title of its section, and what it is."""
HEAD = """# What faults cost

Jobs (tests/chaos/jobs.py) go through each kind of fault of a deck (tests/chaos/schedule.py) at least once: one fault after the
other, each once all jobs run again. Recovery: from the injection, or from the heal of what nothing can go on under, until every
job has committed rows of events that came later. With `nothing` injected that takes as long as an epoch or two. On a machine
that does other things as well these are upper bounds. In the end all that the jobs have written is compared with plain Python
over the same events.

"""
TAIL = """## Networks

All of this is on one machine. Networks between hosts are cut and healed by `make test-hosts` (tests/hosts/test_wires.py);
what that shows stands in [what is promised](guarantees.md#several-hosts-with-members-hosts).
"""


def write_page(path: Path, outcomes: Mapping[str, Outcome], asked: str) -> list[str]:
    """Write anew the section of each cluster of which every kind has come; return why others stay as they were, a line each."""
    sections, left_out = _sections(path), []
    for cluster, outcome in outcomes.items():
        if outcome.never:
            left_out.append(f"cluster {cluster}: these have never come: {', '.join(outcome.never)}")
        else:
            sections[SECTIONS[cluster][0]] = _section(cluster, outcome, asked)
    path.write_text(HEAD + "".join(sections[title] for title, _ in SECTIONS.values() if title in sections) + TAIL)
    return left_out


def _sections(path: Path) -> dict[str, str]:
    """Return the sections of a page that was written before, by their titles."""
    text = path.read_text() if path.exists() else ""
    return {section.partition("\n")[0]: f"## {section}" for section in text.split("## ")[1:]}


def _section(cluster: str, outcome: Outcome, asked: str) -> str:
    title, about = SECTIONS[cluster]
    return f"""## {title}

{about.strip()}

Written by `make chaos {asked}` on a machine of {os.cpu_count()} cores.

{outcome.table()}

{_lines(outcome)}

"""


def _lines(outcome: Outcome) -> str:
    return "\n".join(f"- {line}" for line in outcome.verdict().splitlines())
