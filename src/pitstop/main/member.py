"""``pitstop member``: a member of a cluster."""

from __future__ import annotations

from pitstop.main.process_options import CONFIG, ProcessOptions, command_of
from pitstop.main.values import SHARED
from pitstop.member.settings import MemberSettings


def _join(settings: MemberSettings) -> None:
    from pitstop.member.app import run_member

    run_member(settings)


member = command_of(
    "member",
    "Lend this machine's cores to the jobs of a cluster, until Ctrl-C or until the member is removed.",
    (ProcessOptions(MemberSettings, SHARED),),
    _join,
    CONFIG,
)
