"""The cluster: its members, and how their runners reach Spark."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pitstop.errors import EngineError, UsageError
from pitstop.kit.wire import Moment, described
from pitstop.machine.private import read_private
from pitstop.machine.tcp import is_own_address, loopback_addresses

LOOPBACK = "127.0.0.1"
_VARIABLES = {"master": "PITSTOP_MASTER", "driver_host": "PITSTOP_DRIVER_HOST", "bind_address": "PITSTOP_BIND_ADDRESS"}
_OWN = "PITSTOP_SPARK_CLUSTER"
"""Path of the file that tells of a Spark cluster of our own members."""


@described
@dataclass(frozen=True)
class Placement:
    """The members of ours that a run was planned for."""

    members: tuple[str, ...]
    """Their ids."""
    cores: int
    """Of all of them."""


@described
@dataclass(frozen=True)
class EngineInfo:
    """An engine that jobs share (docs/engines.md)."""

    name: str
    """The name by which jobs ask for it (option engine)."""
    id: str
    """The name of its folder. A later engine of that name has another one."""
    jobs: list[str]
    """The names, or ids, of the jobs that run in it."""
    spares: int
    """The number of warm processes in it that have no job yet."""
    heap_bytes: int
    """The bytes of its memory that are in use."""
    most_heap_bytes: int
    """The most bytes of memory that it takes."""
    cores: int
    """The number of tasks that it runs at once."""
    started: Moment
    """The time at which it was up."""
    retired: bool = False
    """True if it gets no jobs any more and ends with its last one."""


@dataclass(frozen=True)
class SparkCluster:
    """A Spark cluster of our own members, as a driver needs to know it. Kept in a file, which changes with the members."""

    master: str
    """``spark://host:port``."""
    secret: str
    """The secret by which master, workers, drivers and executors know one another."""
    cores: tuple[int, ...] = ()
    """Of each member."""
    members: tuple[str, ...] = ()
    """The ids of these members."""
    executor_memory_mb: int = 1024
    """Heap of each executor: a job has one on every member."""
    keeper: str = ""
    """The one of several servers that keeps the master (DataFolder.server)."""

    @property
    def host(self) -> str:
        """The name or address at which the master listens."""
        return urlsplit(self.master).hostname or ""

    @property
    def spark_settings(self) -> dict[str, str]:
        """Settings of Spark by which drivers and executors speak to nobody else."""
        return closed_to_others(self.host, self.secret)

    @classmethod
    def read(cls, path: Path) -> SparkCluster:
        """Return the cluster of that file. EngineError if there is no such file (yet), or it is damaged."""
        try:
            settings: dict[str, Any] = json.loads(read_private(path, "file of the Spark cluster"))
            return cls(**(settings | {"cores": tuple(settings["cores"]), "members": tuple(settings.get("members", ()))}))
        except (FileNotFoundError, ValueError, TypeError, KeyError) as error:
            raise EngineError(f"The file {path} describes no Spark cluster: {error}") from None

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))


@dataclass(frozen=True)
class ClusterSettings:
    """The addresses by which a runner's Spark driver and its executors find each other.

    A server takes driver host and bind address from its own environment, and hands all of them on to its runners.
    """

    master: str = "local[*]"
    """Spark master: ``local[*]``, ``spark://host:7077``, ..."""
    driver_host: str = LOOPBACK
    """Name or address under which executors reach the driver."""
    bind_address: str = LOOPBACK
    """Address of this machine on which the driver listens."""
    own: Path | None = None
    """The file that tells of a Spark cluster of our own members; it goes over ``master``."""

    @property
    def is_here(self) -> bool:
        """True if executors are threads of the runner, so that all of a run is on this machine."""
        return self.own is None and self.master.startswith("local")

    def environment(self) -> dict[str, str]:
        """Variables that tell a runner process of these settings."""
        variables = {variable: str(getattr(self, name)) for name, variable in _VARIABLES.items()}
        return variables | ({_OWN: str(self.own)} if self.own is not None else {})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ClusterSettings:
        """Return the settings of these variables; a setting without a variable has its default."""
        values = {name: environment[variable] for name, variable in _VARIABLES.items() if variable in environment}
        return cls(**values, own=Path(environment[_OWN]) if _OWN in environment else None)


def closed_to_others(host: str, secret: str) -> dict[str, str]:
    """Settings of Spark by which nobody without the secret can speak to what listens there.

    Where that goes over wires between machines, nobody can listen in or change anything, either.
    """
    settings = {"spark.authenticate": "true", "spark.authenticate.secret": secret}
    return settings if loopback_addresses(host) else settings | {"spark.network.crypto.enabled": "true"}


def address_for_others(host: str, sharing: bool) -> str:
    """``host``, at which the members of a cluster are to reach what runs here.

    UsageError if it is no address of this machine, or of a network while the cluster's store is a file (not ``sharing``).
    """
    if not sharing and not loopback_addresses(host):
        raise UsageError(f"The store in the data folder is for one machine, so that '{host}' cannot be used: give --store, too.")
    if not is_own_address(host):
        raise UsageError(f"'{host}' is not an address of this machine: give one at which the other members reach it.")
    return host


class MemberState(StrEnum):
    """The phase of a member's life."""

    ACTIVE = "ACTIVE"
    LEAVING = "LEAVING"
    """It takes no new work, and goes once nothing of it is needed."""


@dataclass(frozen=True)
class Member:
    """A process that lends the cores of its machine to jobs."""

    id: str
    """A UUID: of a server it stays when it is started again, of any other member it is that of this process."""
    name: str
    address: str
    """The address at which others reach it: of a server ``host:port``, of any other member its host."""
    version: str
    """Of Pitstop."""
    cores: int
    """The number of its cores that jobs use."""
    state: MemberState = MemberState.ACTIVE
    joined: float = 0.0
    """Seconds since the epoch, as is ``seen``."""
    seen: float = 0.0
    """Its last heart-beat."""
