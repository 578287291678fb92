"""What a chain's sinks must hold, in plain Python: each stage as an engine of its own over the same events.

The rules are those of docs/stages.md. From the run come facts about each epoch: up to which event it
has read, and its watermark, which tells what is closed by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.chain import LAG, Chain, time_of
from tests.soak.lines import STATES
from tests.soak.states import Epoch, Expected

Facts = Sequence[tuple[int, int]]
"""Of each epoch of a version: the event after the last one that it has read, and its watermark."""

HELD_BACK = 800
"""A branch that few events reach may hold the watermark back by so many ms."""


def expected(chain: Chain, facts: Sequence[Facts]) -> dict[tuple[int, str], Expected]:
    """(version, stage) -> its rows. ``facts`` are those of each version."""
    found, carried, watermark = {}, {}, 0
    for number, version in enumerate(chain.versions):
        before, renamed, now = watermark, dict(version.renamed), {}
        epochs = _epochs(chain.first(number), before, facts[number])
        watermark = epochs[-1].watermark
        for stage in version.stages:
            state = carried.get(renamed.get(stage.name, stage.name)) or STATES[stage.kind]()
            rows = found[(number, stage.name)] = Expected()
            state.become(stage, before)
            state.run(stage, epochs, rows)
            now[stage.name] = state
        carried = now
    return found


def _epochs(first: int, before: int, facts: Facts) -> list[Epoch]:
    epochs = []
    for last, watermark in facts:
        epochs.append(Epoch(first, last, before, watermark))
        first, before = last, watermark
    return epochs


def latest_watermark(chain: Chain, number: int) -> int:
    """The highest watermark that the last epoch of a version can have: stages that read few events hold it back a little."""
    last = chain.first(number + 1) - 1
    if number + 1 < len(chain.versions):
        last -= chain.versions[number].step
    return time_of(last) - LAG if last >= 0 else 0
