"""The last committed epoch of recorded checkpoints of every release, as the recording noted it."""

import ast
import json
import shutil

import pytest

from pitstop.adoption.forms import Fit, fit
from pitstop.adoption.reading import last_committed, offset_in_words, refuse_unless_healthy
from pitstop.adoption.words import lines_of, warnings_of
from pitstop.doctor.examining import examine
from pitstop.doctor.files import opened
from pitstop.doctor.sources import SourceKind
from pitstop.errors import IncompatibleError, SnapshotError
from pitstop.model.adoption import AdoptedOperator, AdoptedSource, Adoption
from tests.unit.doctor.recorded import facts_of, names, unpack


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    unpack(folder)
    return folder


def read(folder):
    tree = opened(str(folder))
    report = examine(tree)
    return tree, report, last_committed(tree, report)


# The rate source was stopped while it ran: an epoch more may be planned than its last report says.
@pytest.mark.parametrize(("release", "scenario"), [pair for pair in names() if pair[1] != "rate"], ids=lambda name: name)
def test_the_last_committed_epoch(recorded, release, scenario):
    facts = facts_of(recorded, release, scenario)
    _, report, epoch = read(recorded / release / scenario / "checkpoint")
    refuse_unless_healthy(report)
    assert (epoch.number, epoch.partitions) == (facts["committed"], facts["partitions"])
    assert epoch.unfinished == (facts["planned"] if facts["planned"] > facts["committed"] else None)
    assert [source.kind for source in epoch.sources] == facts["sources"]
    # Some releases of PySpark give offsets as texts, of JSON or of Python.
    offsets = [ast.literal_eval(each) if isinstance(each, str) else each for each in facts["end_offsets"]]
    assert [json.loads(source.offset) for source in epoch.sources] == offsets
    for source in epoch.sources:
        if source.kind is SourceKind.FILES:
            files = facts["files"][: facts["committed"] + 1]
            assert [entry.rpartition("/")[2] for entry in source.entries] == files
            assert offset_in_words(source) == f"{len(files)} files read, the last {files[-1]}"


def test_the_same_operator_of_every_release_fits_that_of_the_last(recorded):
    for scenario in ("window-hdfs", "join-hdfs", "sessions-hdfs", "pandas-state", "dedup-within", "processor", "processor-avro"):
        last = examine(opened(str(recorded / "4.3" / scenario / "checkpoint"))).operators
        for release in {release for release, name in names() if name == scenario}:
            own = examine(opened(str(recorded / release / scenario / "checkpoint"))).operators
            assert [fit(old, new) for old, new in zip(own, last, strict=True)] == [Fit.NAMES] * len(last), (release, scenario)


def test_a_join_in_four_stores_fits_one_in_one(recorded):
    old, new = (
        examine(opened(str(recorded / "4.3" / name / "checkpoint"))).operators[0] for name in ("join-hdfs", "join-format3")
    )
    assert fit(old, new) is Fit.NAMES


def test_an_epoch_that_was_not_committed_is_told(recorded):
    _, _, epoch = read(recorded / "4.3" / "unfinished" / "checkpoint")
    [warning] = warnings_of(epoch)
    assert warning.startswith("Epoch 2 was planned and not committed: it is left out, ")


def test_what_cannot_be_adopted(recorded, tmp_path):
    folder = tmp_path / "checkpoint"
    shutil.copytree(recorded / "4.3" / "window-hdfs" / "checkpoint", folder)
    (folder / "state" / "0" / "0" / "4.delta").unlink()
    with pytest.raises(SnapshotError, match=r"is damaged: .* Nothing was adopted"):
        refuse_unless_healthy(examine(opened(str(folder))))
    shutil.rmtree(folder / "commits")
    shutil.rmtree(folder / "state")
    for path in folder.glob("offsets/[123]"):
        path.unlink()
    with pytest.raises(IncompatibleError, match="has committed no epoch yet"):
        refuse_unless_healthy(examine(opened(str(folder))))
    shutil.rmtree(folder)
    shutil.copytree(recorded / "4.3" / "window-hdfs" / "checkpoint", folder)
    (folder / "pitstop.json").write_text(json.dumps({"job_id": "1", "job_name": "orders"}))
    with pytest.raises(IncompatibleError, match="belongs to job 'orders' of Pitstop"):
        refuse_unless_healthy(examine(opened(str(folder))))


def test_an_adoption_in_words():
    adoption = Adoption(
        "/data/checkpoint",
        "3.5",
        7,
        0,
        200,
        [AdoptedOperator(0, "aggregate by window", "counts", 1234)],
        [AdoptedSource(0, "files", "1 file read", "orders"), AdoptedSource(1, "not begun", "not begun", None)],
        ["new"],
        ["more"],
        [],
    )
    assert lines_of(adoption) == [
        "Checkpoint /data/checkpoint of Spark 3.5: epoch 7 is committed, watermark none, 200 partitions",
        "  source 0 (files, 1 file read): source 'orders' goes on there",
        "  source 1 (not begun, not begun): had not begun, and begins",
        "  operator 0 (aggregate by window): stage 'counts' takes over its state, 1,234 rows",
        "  stage 'new' begins empty: the checkpoint has nothing of it",
        "  source 'more' begins anew: the checkpoint has no place of it",
    ]
