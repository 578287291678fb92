"""docs/chaos.md: what a whole run has found, in its own words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.run import Outcome


def write_page(path: Path, outcomes: Sequence[Outcome], asked: str) -> str:
    """Write it, unless something was left out of what one server and two of them were to go through; then that is returned."""
    if len(outcomes) < 3:
        return "there was no PostgreSQL for two servers and for the tables of jobs (scripts/with-postgres)"
    never = [kind for outcome in outcomes for kind in outcome.never]
    if never:
        return f"these have never come: {', '.join(never)}"
    path.write_text(_page(*outcomes, asked))
    return ""


def _page(one: Outcome, two: Outcome, connected: Outcome, asked: str) -> str:
    return f"""# What faults cost

Written by `make chaos {asked}` on a machine of {os.cpu_count()} cores: each kind of fault of the deck
(tests/chaos/schedule.py) has come at least once. Three jobs (tests/chaos/jobs.py) with every kind of state, each of whose
feeds has 20 events a second; one fault after the other, each once all jobs run again. Recovery: from the injection, or from
the heal of what nothing can go on under, until every job has committed rows of events that came later. With `nothing`
injected that takes as long as an epoch or two. On a machine that does other things as well these are upper bounds. In the
end all that the jobs have written is compared with plain Python over the same events.

## One server, its store a file

Two members of one core each, and one warm runner.

{one.table()}

{_lines(one)}

## Two servers on one PostgreSQL

Each with a member of one core, and one warm runner at the server that leads. When that one is gone, recovery lasts until the
other one leads, too.

{two.table()}

{_lines(two)}

{connected_section(connected)}
## Networks

All of this is on one machine. Networks between hosts are cut and healed by `make test-hosts` (tests/hosts/test_wires.py);
what that shows stands in [what is promised](guarantees.md#several-hosts-with-members-hosts).
"""


def connected_section(outcome: Outcome) -> str:
    return f"""## Between Kafka and PostgreSQL

One server without members, and two other jobs (tests/chaos/jobs.py). One reads a topic and writes two topics. The other reads
the same topic and writes three tables. The broker is an Apache Kafka of one node. Broker and database die and are started again
on their data, stand still, and answer late. Outputs are read by `read_committed`.

{outcome.table()}

{_lines(outcome)}
"""


def _lines(outcome: Outcome) -> str:
    return "\n".join(f"- {line}" for line in outcome.verdict().splitlines())
