"""Seeded damage to the bytes of recorded checkpoints: the doctor has a report for each, and never an exception."""

import random
import re

import pytest

from pitstop.doctor.changes import answers_of
from pitstop.doctor.examining import examine
from pitstop.doctor.files import FileFacts, Tree
from pitstop.doctor.render import as_data, sections
from tests.unit.doctor.recorded import names

VALUES = (b"1e999", b"null", b"-1", b"NaN", b'"x"', b"[]", b"{}", b"true", b"9" * 30, b"9" * 5000, b"[" * 3000)


class Memory:
    """The files of a checkpoint in memory, of which one can be damaged without a copy of all."""

    def __init__(self, path):
        self.address, self.unreadable = str(path), {}
        self.files = {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}

    def listing(self):
        for name, content in self.files.items():
            folder, _, base = name.rpartition("/")
            yield folder, base, FileFacts(len(content), 0.0)

    def read(self, name, start=0, end=None):
        return self.files[name][start:end]


def damaged(content, chance):
    if chance.random() < 0.5 and (numbers := list(re.finditer(rb"(?<=[:,\[])-?\d+", content))):
        place = chance.choice(numbers)
        return content[: place.start()] + chance.choice(VALUES) + content[place.end() :]
    changed = bytearray(content)
    for _ in range(chance.choice((1, 3, 20))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("seed", range(300))
def test_no_exception(seed, checkpoints):
    chance = random.Random(seed)
    release, scenario = names()[seed % len(names())]
    folder = Memory(checkpoints / release / scenario / "checkpoint")
    kinds = [name for name in folder.files if name.endswith(".zip")] if seed % 3 == 0 else []
    name = chance.choice(kinds or sorted(folder.files))
    folder.files[name] = damaged(folder.files[name], chance)
    report = examine(Tree(folder))
    assert sections(report, answers_of(report))
    assert as_data(report, answers_of(report))["files"] == report.files
