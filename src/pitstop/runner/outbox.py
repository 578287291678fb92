"""The reports of a run to its control plane: how far it has come, and facts in their order."""

from __future__ import annotations

from collections import deque

from pitstop.control.ports.ownership import RunnerLink
from pitstop.model.job import Progress
from pitstop.model.run import Fact, Observation


class Outbox:
    """Reports of one run that the store does not hold yet.

    Any thread may put facts. ``progress`` is the latest: earlier ones need not be sent.
    """

    def __init__(self, job_id: str, token: int, link: RunnerLink) -> None:
        self._job_id, self._token, self._link = job_id, token, link
        self._facts: deque[Fact] = deque()
        self.progress = self._sent = Progress()

    def put(self, fact: Fact) -> None:
        """Add a fact behind those that wait."""
        self._facts.append(fact)

    def send(self) -> None:
        """Write all of them into the store. StoreError if it is away: what it does not hold by then waits for the next call."""
        # Progress first: a run that follows counts on from it, and begins as soon as this one says that it has stopped.
        if self.progress != self._sent:
            self._link.report(self.progress)
            self._sent = self.progress
        while self._facts:
            self._link.observe(Observation(self._job_id, self._token, self._facts[0]))
            self._facts.popleft()
