"""Random damage to recorded checkpoints: the doctor names the file, and never takes damage that matters for health."""

import random
import re
import shutil

import pytest

from pitstop.doctor.changes import answers_of
from pitstop.doctor.render import as_data, sections
from tests.unit.doctor.damage import DAMAGES, damage, files_of, without_sums
from tests.unit.doctor.recorded import facts_of, names, report_of

STATE = re.compile(r"state/\d+/\d+/(?:[^/]+/)?(\d+)(?:_[^.]+)?\.(delta|snapshot|changelog|zip)")


def is_needed(name, folder, version, kind):
    """Return True if a restart reads the file, by Spark's rules: the newest snapshot, the changes since, and the logs' ends."""
    top, _, rest = name.partition("/")
    if top == "metadata":
        return True
    if top in ("offsets", "commits"):
        newest = max(int(path.name) for path in (folder / top).iterdir() if path.name.isdigit())
        # A commit that is missing is an epoch that was not committed, and a plan without one is made anew.
        if kind == "missing" and not (top == "offsets" and (folder / "commits" / rest).exists()):
            return top == "offsets" and int(rest) == newest - 1
        return int(rest) >= newest - 1 if top == "offsets" else int(rest) == newest
    if top == "sources":
        return "rate" not in str(folder)
    if (match := STATE.fullmatch(name)) is not None:
        store = (folder / name).parent
        bases = [int(m[1]) for path in store.iterdir() if (m := re.fullmatch(r"(\d+)(?:_[^.]+)?\.(snapshot|zip)", path.name))]
        base = max((number for number in bases if number <= version), default=0)
        if match[2] in ("snapshot", "zip"):
            # Without a snapshot that was never there Spark takes the changes from the start on.
            replaced = kind == "missing" and any(path.name.endswith((".delta", ".changelog")) for path in store.iterdir())
            return int(match[1]) == base and not replaced
        return base < int(match[1]) <= version
    return False


@pytest.mark.parametrize("seed", range(200))
def test_random_damage(seed, checkpoints, tmp_path):
    chance = random.Random(seed)
    release, scenario = chance.choice(names())
    folder = tmp_path / scenario
    shutil.copytree(checkpoints / release / scenario / "checkpoint", folder)
    if chance.random() < 0.5:
        without_sums(folder)
    name = chance.choice(files_of(folder))
    kind = chance.choice(DAMAGES)
    version = report_of(folder).logs.committed + 1
    needed = is_needed(name, folder, version, kind)
    whole = (folder / name).read_bytes()
    damage(folder / name, kind, seed)

    report = report_of(folder)

    for part in sections(report, answers_of(report)):
        assert part.title
    assert as_data(report, answers_of(report))["is_damaged"] == report.is_damaged
    if (folder / name).exists() and (folder / name).read_bytes() == whole:
        return
    files = {file for finding in report.findings for file in finding.files}
    severe = report.is_damaged
    if needed:
        assert severe, f"{release} {scenario}: {name} {kind}"
    if kind != "missing" or needed:
        assert name in files or any(name.startswith(f"{file}/") for file in files), f"{release} {scenario}: {name} {kind}"
    assert facts_of(checkpoints, release, scenario)["committed"] >= 0


@pytest.mark.long
@pytest.mark.parametrize("scenario", ["window-hdfs", "window-changelog", "window-rocksdb", "processor", "join-hdfs"])
@pytest.mark.parametrize("kind", DAMAGES)
def test_each_file_in_turn(scenario, kind, checkpoints, tmp_path):
    whole = checkpoints / "4.3" / scenario / "checkpoint"
    version = report_of(whole).logs.committed + 1
    for number, name in enumerate(files_of(whole)):
        folder = tmp_path / str(number) / scenario
        shutil.copytree(whole, folder)
        needed = is_needed(name, folder, version, kind)
        damage(folder / name, kind)
        report = report_of(folder)
        files = {file for finding in report.findings for file in finding.files}
        if needed:
            assert report.is_damaged, f"{name} {kind}"
        if kind != "missing":
            assert name in files, f"{name} {kind}"
        shutil.rmtree(folder)
