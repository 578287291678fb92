"""The answers of the service about the cluster, its members, and backups of its data folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pitstop.kit.wire import Moment, described
from pitstop.model.cluster import EngineInfo, Member, MemberState
from pitstop.model.job import Job


@described
@dataclass(frozen=True)
class MemberInfo:
    """A member of the cluster."""

    address: str
    """The address at which others reach it."""
    uuid: str
    """Its identity."""
    name: str
    """Its name, by which it can be removed."""
    version: str
    """Of Pitstop."""
    cores: int
    """The number of its cores that jobs use."""
    state: MemberState
    """ACTIVE, or LEAVING once it was asked to leave."""
    joined: Moment
    """The time at which it joined."""
    seen: Moment
    """Its last heart-beat."""
    jobs: list[str] = field(default_factory=list)
    """The names, or ids, of the jobs that are planned for it."""

    @classmethod
    def of(cls, member: Member, running: Iterable[Job], alone: bool = False) -> MemberInfo:
        """Return the view of a member, with the jobs planned for it. A member that is ``alone`` is the server, and has all."""
        parts = (member.name, member.version, member.cores, member.state, member.joined, member.seen)
        here = [job for job in running if alone or (job.placement is not None and member.id in job.placement.members)]
        return cls(member.address, member.id, *parts, sorted(job.name or job.id for job in here))


@described
@dataclass(frozen=True)
class ClusterInfo:
    """The cluster."""

    state: str
    """ACTIVE when jobs can run."""
    version: str
    """Of Pitstop."""
    size: int
    """Members."""
    members: list[MemberInfo]
    """All members."""
    running_jobs: int
    """Jobs whose state is RUNNING."""
    leader: str | None = None
    """Address of the control plane that leads; null for the seconds in which none does."""
    ending: list[str] = field(default_factory=list)
    """Of a cluster that is shut down (state PASSIVE): the names, or ids, of the jobs whose runs have not ended yet."""
    engines: list[EngineInfo] = field(default_factory=list)
    """The engines that jobs share on the server's machine."""


@described
@dataclass(frozen=True)
class Backup:
    """A backup that was taken."""

    folder: str
    """The folder on the server's machine that holds it."""
    created: Moment
    """The time at which it was taken: all of it is as it was then."""
    bytes: int
    """Size of its files."""
    jobs: int
    """The number of its jobs that have not ended."""
    snapshots: int
    """The number of its named snapshots."""
