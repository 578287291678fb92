"""``pitstop support-bundle``: an archive that tells how a server is; tests/e2e/test_support.py looks for secrets in it."""

import io
import json
import stat
import tarfile

import pytest

from pitstop.errors import DeniedError, ForbiddenError
from pitstop.model.operation import Cancel
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.server import support
from tests.doors.doors import running
from tests.doubles.http import listening

USAGE, NOT_FOUND = 2, 3


def members(content):
    """Return the texts of a bundle, by their paths within its one folder."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        texts = {entry.name: archive.extractfile(entry).read().decode() for entry in archive}
    (stem,) = {name.partition("/")[0] for name in texts}
    assert stem.startswith("pitstop-support-")
    return {name.partition("/")[2]: text for name, text in texts.items()}


def line(logger, message):
    return json.dumps({"time": "2026-11-22T12:24:59,753", "level": "INFO", "logger": logger, "msg": message}) + "\n"


def test_a_bundle_tells_of_versions_jobs_and_logs(cli, state, tmp_path):
    job = running(state, "cars")
    gone = running(state, "gone")
    state.do(gone, Cancel())
    state.write_log(job, line("pitstop.engine", "first epoch") + line("fleet", "a row") + line("pitstop.sink.logger", "a row"))
    state.write_log(job, "printed by the job\n" + line("org.apache.spark.sql", "falls behind"))
    file = tmp_path / "bundle.tar.gz"
    code, out, err = cli("support-bundle", file)
    assert (code, err) == (0, "")
    size = file.stat().st_size
    assert out == f"The support bundle is {file} ({size:,} bytes). Look through it before you send it.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    texts = members(file.read_bytes())
    versions = json.loads(texts["versions.json"])
    assert (versions["pitstop"], versions["spark"]) == ("0.1.0", "4.3.0")
    assert versions["java"]["version"] >= 17
    assert versions["packages"]["fastapi"]
    jobs = {each["name"]: each for each in json.loads(texts["jobs.json"])}
    assert {name: each["display_status"] for name, each in jobs.items()} == {"cars": "RUNNING", "gone": "CANCELLED"}
    assert jobs["cars"]["plan"]
    assert [each["new"] for each in json.loads(texts[f"jobs/{job}/events.json"]) if "new" in each] == ["STARTING", "RUNNING"]
    assert 'pitstop_job_status{id="' in texts["metrics.txt"]
    log = [json.loads(each) for each in texts[f"jobs/{job}/log.jsonl"].splitlines()]
    assert [each["msg"] for each in log[:-1]][-2:] == ["first epoch", "falls behind"]
    assert log[-1]["lines"] == 3
    assert {f"jobs/{job}/{name}.json" for name in ("events", "versions", "options")} <= set(texts)


def test_programs_get_the_name_and_the_size(cli, tmp_path):
    file = tmp_path / "bundle.tar.gz"
    code, out, _ = cli("support-bundle", "-o", "json", file)
    assert (code, json.loads(out)) == (0, {"file": str(file), "bytes": file.stat().st_size})


def test_logs_and_jobs_are_bounded(state, monkeypatch):
    monkeypatch.setattr(support, "LOG_BYTES", 1000)
    monkeypatch.setattr(support, "MOST_ENDED", 2)
    monkeypatch.setattr(support, "MOST_DETAILED", 2)
    first = running(state, "first")
    for number in range(5):
        state.do(running(state, f"job {number}"), Cancel())
    state.write_log(first, "".join(line("pitstop.engine", f"line {number}") for number in range(1000)))
    texts = members(state.support_bundle())
    log = texts[f"jobs/{first}/log.jsonl"]
    assert len(log) <= 1000
    assert [json.loads(each)["msg"] for each in log.splitlines()][-1] == "line 999"
    assert [each["display_status"] for each in json.loads(texts["jobs.json"])] == ["RUNNING", "CANCELLED", "CANCELLED"]
    assert json.loads(texts["left-out.json"]) == {"ended jobs": 3, "jobs without details": 4}
    assert len({name.split("/")[1] for name in texts if name.startswith("jobs/")}) == 2


def test_the_jobs_in_trouble_have_their_details_first(state, monkeypatch):
    monkeypatch.setattr(support, "MOST_DETAILED", 1)
    broken = running(state, "broken", "# fails: No such column")
    running(state, "fine")
    assert {name.split("/")[1] for name in members(state.support_bundle()) if name.startswith("jobs/")} == {broken}


def test_the_folder_of_a_server_that_does_not_run_gives_versions_and_logs(bare, tmp_path):
    data = tmp_path / "data"
    (data / "jobs" / "1").mkdir(parents=True)
    (data / "token").write_text("the-token-of-operators")
    (data / "server.log").write_text(line("pitstop.server", "cannot open with the-token-of-operators"))
    (data / "jobs" / "1" / "runner.log").write_text(line("pitstop.runner", "run 1 starts"))
    file = tmp_path / "bundle.tar.gz"
    assert bare("support-bundle", "--data", data, file)[::2] == (0, "")
    texts = members(file.read_bytes())
    assert json.loads(texts["logs/server.jsonl"])["msg"] == "cannot open with ***"
    assert json.loads(texts["jobs/1/log.jsonl"])["msg"] == "run 1 starts"
    assert "versions.json" in texts
    assert "jobs.json" not in texts


def test_a_file_that_exists_is_left_as_it_is(cli, tmp_path):
    file = tmp_path / "bundle.tar.gz"
    file.write_text("mine")
    code, out, err = cli("support-bundle", file)
    assert (code, out) == (USAGE, "")
    assert err.startswith(f"ERROR: {file} exists already: give another file.\n")
    assert file.read_text() == "mine"


def test_a_folder_that_is_not_there(cli, tmp_path):
    code, _, err = cli("support-bundle", tmp_path / "nowhere" / "bundle.tar.gz")
    assert (code, err.splitlines()[0]) == (
        USAGE,
        f"ERROR: The bundle cannot be written to {tmp_path}/nowhere/bundle.tar.gz: No such file or directory.",
    )
    code, _, err = cli("support-bundle", "--data", tmp_path / "nowhere", tmp_path / "bundle.tar.gz")
    assert (code, err.splitlines()[0]) == (NOT_FOUND, f"ERROR: There is no data folder {tmp_path}/nowhere.")


@pytest.mark.parametrize(("token", "error"), [("of-viewers-alone", ForbiddenError), ("wrong", DeniedError)])
def test_viewers_and_strangers_get_none(state, token, error):
    from pitstop.client.http import HttpService

    access = Access("of-operators", viewer_token="of-viewers-alone")
    with listening(create_app(state, access)) as url, pytest.raises(error):
        HttpService(url, token).support_bundle()
