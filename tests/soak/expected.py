"""What a chain's sinks must hold, in plain Python: each stage as an engine of its own over the same events.

The rules are those of docs/stages.md and jet.md §2.3 and §2.4. From the run comes one fact a version: the watermark with
which its last epoch ran, which tells what is closed when its snapshot is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.accumulators import events
from tests.soak.chain import LAG, Chain, time_of
from tests.soak.states import STATES, Expected

HELD_BACK = 800
"""A branch that few events reach may hold the watermark back by so many ms."""


def expected(chain: Chain, watermarks: Sequence[int]) -> dict[tuple[int, str], Expected]:
    """(version, stage) -> its rows."""
    found, carried = {}, {}
    for number, version in enumerate(chain.versions):
        before, renamed, now = watermarks[number - 1] if number else 0, dict(version.renamed), {}
        for stage in version.stages:
            state = carried.get(renamed.get(stage.name, stage.name)) or STATES[stage.kind]()
            rows = found[(number, stage.name)] = Expected()
            state.become(stage, before)
            state.read(stage, list(events(chain.first(number), chain.first(number + 1))), rows)
            state.end(stage, before, watermarks[number], rows)
            now[stage.name] = state
        carried = now
    return found


def latest_watermark(chain: Chain, number: int) -> int:
    """The highest watermark that the last epoch of a version can have: stages that read few events hold it back a little."""
    last = chain.first(number + 1) - 1
    if number + 1 < len(chain.versions):
        last -= chain.versions[number].step
    return time_of(last) - LAG if last >= 0 else 0
