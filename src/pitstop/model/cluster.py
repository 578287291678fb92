"""The cluster: its members, and how their runners reach Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
_VARIABLES = {"master": "PITSTOP_MASTER", "driver_host": "PITSTOP_DRIVER_HOST", "bind_address": "PITSTOP_BIND_ADDRESS"}


@dataclass(frozen=True)
class ClusterSettings:
    """How a runner's Spark driver finds its executors, and they it.

    A server takes driver host and bind address from its own environment, and hands all of it on to its runners.
    """

    master: str = "local[*]"
    """Spark master: ``local[*]``, ``spark://host:7077``, ..."""
    driver_host: str = LOOPBACK
    """Name or address under which executors reach the driver."""
    bind_address: str = LOOPBACK
    """Address of this machine on which the driver listens."""

    @property
    def is_here(self) -> bool:
        """True if executors are threads of the runner, so that all of a run is on this machine."""
        return self.master.startswith("local")

    def environment(self) -> dict[str, str]:
        """Variables that tell a runner process of these settings."""
        return {variable: getattr(self, name) for name, variable in _VARIABLES.items()}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ClusterSettings:
        """The settings that variables tell; what they do not is as usual."""
        told = {name: environment[variable] for name, variable in _VARIABLES.items() if variable in environment}
        return cls(**told)


@dataclass(frozen=True)
class Member:
    """A server of the cluster."""

    id: str
    """A UUID that stays when the server is started again."""
    address: str
    """Where clients reach it, as ``host:port``."""
    master: str
    """Spark master of the runners that it starts."""
