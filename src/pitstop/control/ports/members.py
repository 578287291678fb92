"""The ports by which the control plane sees the members of a cluster, and by which a process is one."""

from __future__ import annotations

from typing import Protocol

from pitstop.model.cluster import Member, MemberState


class Members(Protocol):
    """The members that lend cores to jobs."""

    def list(self) -> list[Member]:
        """Return the members whose heart beats, in the order of their names."""
        ...


class Membership(Members, Protocol):
    """The calls by which a process joins a cluster, stays in it and leaves it."""

    def join(self, member: Member) -> None:
        """Join as a member; ConflictError if a member of that name lives already."""
        ...

    def beat(self, member_id: str) -> MemberState | None:
        """Report that the member lives; return what it is to do, or None if the cluster took it for dead: it joins again."""
        ...

    def ask_to_leave(self, name: str) -> None:
        """Ask the member of that name to leave; NotFoundError if there is none."""
        ...

    def leave(self, member_id: str) -> None:
        """End the membership of a member."""
        ...
