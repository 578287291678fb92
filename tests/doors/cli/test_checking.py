"""``pitstop check`` where no server runs."""

import textwrap

import pytest

from tests.ports import free_port

JOB = """
import pitstop as ps

print("hello")

@ps.job()
def speeds(folder: str, lag: int = 20):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, speed double, time timestamp"), name="cars")
    timed = rows.with_timestamps("time", allowed_lag=f"{lag} seconds")
    timed.write_to(ps.sinks.map("latest", key="vin"), name="latest")
    return p
"""
SOUND = "The pipeline is sound; nothing to compare with. Stages: cars, cars-rows, timestamps, latest.\n"


@pytest.fixture
def artifact(tmp_path, monkeypatch):
    """Write a job's file into the present folder, which holds nothing else, and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(code=JOB):
        (tmp_path / "speeds.py").write_text(textwrap.dedent(code))
        return "speeds.py"

    return write


@pytest.fixture
def nobody(monkeypatch):
    """Make the default address one where nobody listens."""
    url = f"http://127.0.0.1:{free_port()}"
    for module in ("pitstop.client.address", "pitstop.client.connection"):
        monkeypatch.setattr(f"{module}.DEFAULT_URL", url)
    return url


def test_a_sound_job_is_compiled_by_this_machine(bare, nobody, artifact):
    code, out, err = bare("check", artifact(), "data")
    assert (code, out.splitlines()[0] + "\n") == (0, SOUND)
    assert "Warning: " in out  # the folder is not there
    assert "No server runs here, so this machine compiled the job by itself. 'pitstop serve' starts a server." in err


def test_what_spark_alone_knows_is_told(bare, nobody, artifact):
    unknown_column = JOB.replace('"time", allowed', '"tme", allowed')
    code, out, err = bare("check", "--local", artifact(unknown_column), "data")
    assert (code, out) == (2, "")
    assert "(speeds.py:10): there is no column 'tme'" in err


@pytest.mark.parametrize(
    ("wrong", "arguments", "sentence"),
    [
        (("with_timestamps", "with_timestamp"), ("data",), "Did you mean 'with_timestamps'?"),
        (("", ""), (), "missing a required argument: 'folder'"),
        (("", ""), ("data", "soon"), "'lag'"),
        (("", ""), ("-O", "snapshot_interval=never", "data"), "snapshot_interval"),
        (("", ""), ("-O", "requirements=numpy", "data"), "Only a server installs packages"),
        (("def speeds", "def speeds_of_all("), ("data",), "speeds.py"),
    ],
)
def test_a_mistake_is_told_without_spark(bare, nobody, artifact, monkeypatch, wrong, arguments, sentence):
    monkeypatch.setattr("pitstop.main.here._done", lambda task: pytest.fail("a process was started"))
    code, out, err = bare("check", artifact(JOB.replace(*wrong)), *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


@pytest.mark.parametrize("options", [("-j", "speeds"), ("-s", "monday")])
def test_only_a_server_compares_with_a_job_or_a_snapshot(bare, nobody, artifact, options):
    code, out, err = bare("check", artifact(), "data", *options)
    assert (code, out) == (6, "")
    assert f"No Pitstop server answers at {nobody}: start one with 'pitstop serve'" in err
    code, _, err = bare("check", "--local", artifact(), "data", *options)
    assert code == 2
    assert "--local compares with nothing" in err


def test_a_server_that_the_call_names_and_that_is_away_is_an_error(bare, nobody, artifact, monkeypatch):
    monkeypatch.setenv("PITSTOP_URL", nobody)
    code, out, err = bare("check", artifact(), "data")
    assert (code, out) == (6, "")
    assert f"No Pitstop server answers at {nobody}" in err
