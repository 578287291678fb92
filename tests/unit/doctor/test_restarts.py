"""The doctor's verdict on damage is what Spark did with it (tests/golden/restart_checkpoints.py)."""

import json
import shutil

import pytest

from pitstop.doctor.findings import Code
from tests.unit.doctor.damage import damage, without_sums
from tests.unit.doctor.recorded import GOLDEN, report_of

RESTARTS = [one for one in json.loads((GOLDEN / "restarts-4.3.json").read_text()) if one["damage"] != "whole"]


@pytest.mark.parametrize("restart", RESTARTS, ids=lambda one: f"{one['scenario']}-{one['file']}-{one['damage']}")
def test_the_verdict_is_that_of_spark(restart, checkpoints, tmp_path):
    folder = tmp_path / "checkpoint"
    shutil.copytree(checkpoints / "4.3" / restart["scenario"] / "checkpoint", folder)
    if not restart["hidden"]:
        without_sums(folder)
    damage(folder / restart["file"], restart["damage"])
    report = report_of(folder)
    codes = {finding.code for finding in report.findings}
    if restart["outcome"] == "goes on" and restart["same_rows"]:
        # A snapshot that other files replace is told as damage all the same: releases before 4.3 may fail.
        assert not report.is_damaged or Code.SNAPSHOT_UNREADABLE in codes
    elif restart["file"].startswith("commits/") and restart["damage"] == "missing":
        assert Code.EPOCH_UNFINISHED in codes
    else:
        assert report.is_damaged
        assert any(restart["file"] in finding.files for finding in report.findings)
