"""Checkpoints that real releases of Spark wrote (tests/golden/record_checkpoints.py), unpacked once."""

import json
import tarfile
from functools import cache
from pathlib import Path

from pitstop.doctor.examining import examine
from pitstop.doctor.files import opened

GOLDEN = Path(__file__).parents[2] / "golden"
ARCHIVES = sorted(GOLDEN.glob("checkpoints-*.tar.xz"))


@cache
def names():
    """Return (release, scenario) of each recorded checkpoint."""
    pairs = []
    for archive in ARCHIVES:
        with tarfile.open(archive) as packed:
            scenarios = {member.name.partition("/")[0] for member in packed.getmembers()}
        pairs += [(release_of(archive), scenario) for scenario in sorted(scenarios)]
    return pairs


def release_of(archive):
    return archive.name.removeprefix("checkpoints-").removesuffix(".tar.xz")


def unpack(folder):
    for archive in ARCHIVES:
        with tarfile.open(archive) as packed:
            packed.extractall(folder / release_of(archive), filter="data")


def facts_of(folder, release, scenario):
    return json.loads((folder / release / scenario / "facts.json").read_text())


def report_of(checkpoint, whole=False):
    return examine(opened(str(checkpoint)), whole)
