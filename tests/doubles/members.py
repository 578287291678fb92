"""The members of a cluster in memory."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence

from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.clock import Clock, SystemClock
from pitstop.model.cluster import Member, MemberState
from pitstop.store.members import SILENT_SECONDS


class MemoryMembers:
    """A control.ports.members.Membership in a dict."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock, self._lock = clock or SystemClock(), threading.Lock()
        self._members: dict[str, Member] = {}

    def list(self) -> list[Member]:
        with self._lock:
            return sorted(self._living(), key=lambda member: member.name)

    def join(self, member: Member) -> None:
        now = self._clock.now()
        with self._lock:
            others = [other for other in self._living() if other.id != member.id]
            namesake = next((other for other in others if other.name == member.name), None)
            if namesake is not None:
                raise ConflictError(f"There is a member '{member.name}' already, at {namesake.address}: choose another name.")
            self._members = {other.id: other for other in others} | {member.id: dataclasses.replace(member, joined=now, seen=now)}

    def beat(self, member_id: str) -> MemberState | None:
        with self._lock:
            member = next((member for member in self._living() if member.id == member_id), None)
            if member is None:
                return None
            self._members[member_id] = dataclasses.replace(member, seen=self._clock.now())
            return member.state

    def ask_to_leave(self, name: str) -> None:
        with self._lock:
            members = [member for member in self._members.values() if member.name == name]
            if not members:
                raise NotFoundError(f"There is no member '{name}'.")
            self._members[members[0].id] = dataclasses.replace(members[0], state=MemberState.LEAVING)

    def leave(self, member_id: str) -> None:
        with self._lock:
            self._members.pop(member_id, None)

    def _living(self) -> Sequence[Member]:
        since = self._clock.now() - SILENT_SECONDS
        return [member for member in self._members.values() if member.seen > since]
