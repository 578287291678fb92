"""The command that makes a snapshot of a checkpoint of Spark."""

import json

import pytest


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.py").write_text("# stage: speed bigint")
    return "orders.py"


def test_a_plan_and_then_the_snapshot(cli, state, job, tmp_path):
    code, out, err = cli("adopt", "--plan", "checkpoint", job, "--name", "first")
    assert (code, out.splitlines()) == (
        0,
        [
            f"Checkpoint {tmp_path}/checkpoint of Spark 4.3 or later: epoch 0 is committed, watermark none, 1 partition",
            "  stage 'speed' begins empty: the checkpoint has nothing of it",
            "  source 'source' begins anew: the checkpoint has no place of it",
            "This is a plan: nothing was made.",
        ],
    )
    assert err == ""
    assert state.snapshots() == []
    code, out, _ = cli("adopt", "checkpoint", "--name", "first", "-O", "partitions=1", job, "in one")
    assert code == 0
    assert out.splitlines()[-1] == (
        "Made snapshot 'first'. Go on with: pitstop submit -s first -O partitions=1 orders.py 'in one'"
    )
    assert [record.name for record in state.snapshots()] == ["first"]


def test_data_for_programs(cli, job):
    code, out, _ = cli("-o", "json", "adopt", "s3://bucket/checkpoint", job)
    adoption = json.loads(out)
    assert (code, adoption["checkpoint"], adoption["snapshot"]["name"]) == (0, "s3://bucket/checkpoint", "orders")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--operator", "speed"], "--operator takes N=NAME, a number and a name, and not 'speed'."),
        (["--source", "x=in"], "--source takes N=NAME, a number and a name, and not 'x=in'."),
        (["--operator", "0=a", "--operator", "0=b"], "--operator is given twice for 0: leave one out."),
    ],
)
def test_assignments_that_are_none(cli, job, arguments, sentence):
    code, _, err = cli("adopt", *arguments, "checkpoint", job)
    assert code == 2
    assert sentence in err
