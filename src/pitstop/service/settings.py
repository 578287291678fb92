"""The settings of a server, as doors show them."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.kit.wire import described
from pitstop.model.retention import KEPT, USUAL, Retention


@described
@dataclass(frozen=True)
class KeepSetting:
    """A bound of something that grows, in number or in time."""

    name: str
    """As `pitstop serve --keep` takes it."""
    value: str
    """The value in force: a number, or a duration such as `7 days`."""
    usual: str
    """The default."""
    meaning: str
    """The things that are kept."""


@described
@dataclass(frozen=True)
class ServerSettings:
    """Settings of the server that has answered."""

    keep: list[KeepSetting]
    """The bounds of all that grows, in number and in time."""

    @classmethod
    def of(cls, retention: Retention) -> ServerSettings:
        """Return the settings of a server with these limits."""
        value, usual = retention.written(), USUAL.written()
        return cls([KeepSetting(setting.name, value[setting.name], usual[setting.name], setting.meaning) for setting in KEPT])
