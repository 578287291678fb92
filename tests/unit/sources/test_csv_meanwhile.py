"""Files that rotate while a folder is looked at, at whatever moment of that: every row once."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from pitstop.spark.sources import csv_marks
from tests.unit.sources.test_csv_rotation import Tailing, numbered, write


class Meanwhile:
    """Does the first of the steps before so many calls of the operating system, and each further one ``apart`` calls later."""

    def __init__(self, monkeypatch, steps, at, apart, *more):
        self.steps, self.at, self.apart, self.calls = list(steps), at, apart, 0
        self.busy = False
        for owner, name in ((os, "stat"), (os, "scandir"), (csv_marks, "scandir"), (Path, "open"), *more):
            monkeypatch.setattr(owner, name, self._counting(getattr(owner, name)))

    def _counting(self, call):
        def counted(*args, **more):
            if not self.busy:
                self.calls += 1
                self.busy = True
                while self.steps and self.calls >= self.at:
                    self.at += self.apart
                    self.steps.pop(0)()
                self.busy = False
            return call(*args, **more)

        return counted


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def rotation(folder, names, turn):
    """The steps by which each file gets the next name, and a new one the first."""

    def rename(old, new):
        if (folder / old).exists():
            os.rename(folder / old, folder / new)

    renames = [lambda old=old, new=new: rename(old, new) for old, new in reversed(list(pairwise(names)))]
    return [*renames, lambda: write(folder / names[0], *numbered(f"new {turn}", 0, 9))]


@pytest.mark.parametrize("apart", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    ("names", "before", "turns"),
    [
        (["a.csv", "a.1.csv", "a.2.csv"], 0, 1),
        (["a.csv", "a.1", "a.2"], 0, 1),
        (["a.csv", "a.1.csv", "a.2.csv", "a.3.csv"], 0, 2),
        (["b.csv", "c.csv", "d.csv", "e.csv"], 0, 2),
        (["a.csv", "a.1.csv", "a.2.csv", "a.3.csv"], 1, 1),
        (["live/a.csv", "done/a.csv", "done/b.csv"], 0, 1),
        (["b/a.csv", "a/a.csv", "c/a.csv"], 0, 1),
    ],
    ids=[
        "in the glob",
        "out of it",
        "twice",
        "twice, in the order of names",
        "after another one",
        "to another folder",
        "to another folder and on",
    ],
)
def test_a_rotation_at_any_moment_of_a_look_loses_and_doubles_nothing(tmp_path, monkeypatch, names, before, turns, apart):
    at, begun = 1, True
    while begun:
        folder = tmp_path / str(at)
        folder.mkdir()
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
        tailing, read = Tailing(folder, glob="**/*.csv"), []
        for name in names[1::-1]:
            write(folder / names[0], *numbered(name, 0, 5))
            read += tailing.epoch()
            if name != names[0]:
                (folder / names[0]).rename(folder / name)
                read += tailing.epoch()
            write(folder / name, f"more of {name}")
        for turn in range(before):
            for step in rotation(folder, names, turn):
                step()
        steps = [step for turn in range(before, before + turns) for step in rotation(folder, names, turn)]
        with monkeypatch.context() as patch:
            meanwhile = Meanwhile(patch, steps, at, apart)
            read += tailing.epoch()
            begun = len(meanwhile.steps) < len(steps)
        for step in meanwhile.steps:
            step()
        for path in files(folder):
            write(path, f"last of {path.name}")
        for _ in range(4):
            read += tailing.epoch()
        written = [line for path in files(folder) for line in path.read_text().splitlines()]
        assert sorted(read) == sorted(written), f"at call {at}"
        at += 1
