"""Checkpoints and snapshots in memory."""

from __future__ import annotations

from fsspec.implementations.memory import MemoryFileSystem

from pitstop.snapshots.fsspec_files import FsspecFiles


def memory_files() -> FsspecFiles:
    """snapshots.files.Files in memory, which no other one shares."""
    file_system = MemoryFileSystem(skip_instance_cache=True)
    # The class has one store for all of the process.
    file_system.store, file_system.pseudo_dirs = {}, [""]
    return FsspecFiles(file_system)
