"""The settings of a server, as doors show them."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.kit.wire import described
from pitstop.model.retention import KEPT, USUAL, Retention


@described
@dataclass(frozen=True)
class KeepSetting:
    """How much is kept of something that grows, or for how long."""

    name: str
    """As `pitstop serve --keep` takes it."""
    value: str
    """What is in force: a number, or a duration such as `7 days`."""
    usual: str
    """What it is where nobody has said otherwise."""
    meaning: str
    """What is kept."""


@described
@dataclass(frozen=True)
class ServerSettings:
    """Settings of the server that has answered."""

    keep: list[KeepSetting]
    """How much is kept of what grows, and for how long."""

    @classmethod
    def of(cls, retention: Retention) -> ServerSettings:
        """Return the settings of a server with these limits."""
        value, usual = retention.written(), USUAL.written()
        return cls([KeepSetting(setting.name, value[setting.name], usual[setting.name], setting.meaning) for setting in KEPT])
