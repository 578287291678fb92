"""A real server and its runner leave nothing that other users can read, but the output that is for them."""

import contextlib
import os
from pathlib import Path

import pytest

from tests.folders import everything_below

pytestmark = [pytest.mark.e2e, pytest.mark.long]

OTHERS = 0o066
"""To read and to write; Spark lets everybody execute the files of jobs, which lie in folders that are closed."""
JOB = """
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", snapshot_interval="1 second")
def job(out: str):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(50), name="rows")
    rows.write_to(ps.sinks.files(out + "/by-day", format="json"), name="files")
    rows.with_columns(key="sequence % 3").write_to(ps.sinks.map("latest", key="key"), name="map")
    return p
"""


def below(folder):
    """(path, permissions) of everything that is there now: a running job makes and removes folders meanwhile."""
    for path in everything_below(folder):
        with contextlib.suppress(FileNotFoundError):
            yield path, path.lstat().st_mode


def open_to_others(folder):
    return [str(path) for path, mode in below(folder) if mode & OTHERS and not path.is_symlink()]


def test_all_data_are_private_and_output_is_as_the_user_wants_it(stack, tmp_path):
    before = os.umask(0o027)
    try:
        client = stack.start_server()
    finally:
        os.umask(before)
    (tmp_path / "job.py").write_text(JOB)
    job = client.submit(tmp_path / "job.py", args=[str(tmp_path / "out")])
    job.wait_started()
    job.export_snapshot("s")
    assert open_to_others(stack.data) == []
    job.suspend()
    out = tmp_path / "out"
    files = list((out / "by-day").glob("*.json"))
    assert files
    assert {path.stat().st_mode & 0o777 for path in files} == {0o640}
    assert {path.stat().st_mode & 0o777 for path in (out, out / "by-day")} == {0o750}
    assert open_to_others(Path(stack.data)) == []
    names = {path.name for path, _ in below(stack.data)}
    assert {"runner.log", "pitstop.db", "token"} <= names
