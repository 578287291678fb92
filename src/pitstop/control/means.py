"""The means of the control loop, in one bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pitstop.control.ports.launcher import Launcher
from pitstop.control.ports.outputs import Outputs
from pitstop.control.ports.registry import Registry
from pitstop.control.ports.wake import Wake
from pitstop.control.ports.workers import Workers
from pitstop.kit.clock import Clock
from pitstop.model.data_folder import DataFolder
from pitstop.model.retention import USUAL, Retention
from pitstop.snapshots.files import LOCAL_FILES, Files


@dataclass(frozen=True, kw_only=True)
class Means:
    """The store, the processes and the files that one control loop decides about. Each part of the loop takes what it needs."""

    registry: Registry
    launcher: Launcher
    workers: Workers
    clock: Clock
    wake: Wake
    data: DataFolder
    outputs: Outputs
    files: Files = LOCAL_FILES
    check_lead: Callable[[], None] = lambda: None
    """Raises FencedError once another control plane may lead. The store fences decisions; no other work is begun after that."""
    retention: Retention = USUAL
