"""What may happen to a cluster."""

from __future__ import annotations

from random import Random

from tests.chaos.cluster import Cluster


class Fault:
    """Something that goes wrong, or is asked for. Made anew for each time.

    What it takes at random it draws from ``drawn``.
    """

    name = ""
    """Its kind, and its line in the table: the same for all that are made alike."""
    hold = 0.0
    """So many seconds after it was injected it is healed."""
    from_heal = False
    """Recovery counts from when it was healed: until then nothing can go on."""

    def impossible(self, cluster: Cluster) -> str | None:
        """Why this cannot be done here; None if it can."""
        return None

    def prepare(self, cluster: Cluster, drawn: Random) -> None:
        """Whatever has to be so before; it may take a while."""

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        raise NotImplementedError

    def over(self, cluster: Cluster) -> bool:
        """True once what this disturbs beside the jobs is well again."""
        return True

    def heal(self, cluster: Cluster) -> None:
        """Make the world whole again; the product has to do the rest."""


class Nothing(Fault):
    """What the figures of the others are to be compared with."""

    name = "nothing"

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        pass
