"""Packages installed by the real tool, from a folder of wheels and from an index over HTTP that the tests make."""

import hashlib
import importlib.metadata
import shutil
import sys
import time
import zipfile

import pytest

from pitstop.errors import ArtifactError, UsageError
from pitstop.launchers.installing import LocalInstaller, check_index
from pitstop.service.requirements import Needed
from tests.wheels import index, wheel


@pytest.fixture
def wheels(tmp_path):
    """``greeting`` needs ``words`` from 2 on, and a package that the server has."""
    folder = tmp_path / "wheels"
    wheel(folder, "words", "1.0")
    wheel(folder, "words", "2.0")
    wheel(folder, "greeting", "1.0", needs=("words>=2", "structlog"))
    return folder


@pytest.fixture(params=["pip", "uv"])
def install(request, tmp_path, wheels):
    if request.param == "uv" and shutil.which("uv") is None:
        pytest.skip("uv is not here")
    usual = [sys.executable, "-m", "pip"] if request.param == "pip" else [shutil.which("uv")]

    def run(*lines, indexes=None, **options):
        target, scratch = tmp_path / f"target-{time.monotonic_ns()}", tmp_path / f"scratch-{time.monotonic_ns()}"
        scratch.mkdir()
        installer = LocalInstaller([str(wheels)] if indexes is None else indexes, **{"tool": usual} | options)
        installer.install([line if isinstance(line, Needed) else Needed(line) for line in lines], target, scratch)
        return target

    return run


def packages(target):
    found = {path.name.removesuffix(".dist-info") for path in target.glob("*.dist-info")}
    assert {name.split("-")[0] for name in found} <= {path.name for path in target.iterdir()}
    return found


def test_packages_come_with_what_they_need_but_for_what_the_server_has(install):
    assert packages(install("greeting")) == {"greeting-1.0", "words-2.0"}


def test_an_index_is_asked_over_http_and_nothing_else_is(install, wheels, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/nobody")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    shutil.move(wheels / "greeting-1.0-py3-none-any.whl", wheels.parent)
    with index(wheels) as (url, asked):
        assert packages(install("words<2", indexes=[url])) == {"words-1.0"}
        assert "/words/" in asked
        with pytest.raises(ArtifactError, match="greeting"):
            install("greeting", indexes=[url])


def test_what_does_not_fit_the_server_is_refused(install, wheels):
    wheel(wheels, "old", needs=("structlog<1",))
    version = importlib.metadata.version("structlog")
    with pytest.raises(ArtifactError, match=rf"structlog<1.*structlog=={version}"):
        install("old")


def test_a_package_that_is_nowhere_is_told_with_the_words_of_the_tool(install):
    with pytest.raises(ArtifactError, match=r"nosuch(-| )?package.*") as error:
        install("nosuch-package==7")
    assert "\n" not in error.value.message
    assert len(error.value.message) < 700


def test_a_wrong_hash_is_refused_and_the_right_one_is_not(install, wheels):
    right = hashlib.sha256((wheels / "words-2.0-py3-none-any.whl").read_bytes()).hexdigest()
    assert packages(install(Needed("words==2.0", (f"sha256:{right}",)))) == {"words-2.0"}
    with pytest.raises(ArtifactError, match=r"(?i)hash"):
        install(Needed("words==2.0", (f"sha256:{'0' * 64}",)))


def test_code_of_strangers_runs_only_if_the_server_allows_to_build(install, wheels, tmp_path):
    source = wheels / "built-1.0.zip"
    ran = tmp_path / "ran"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("built-1.0/setup.py", f"open({str(ran)!r}, 'w').close()\nraise SystemExit('built')\n")
        archive.writestr("built-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: built\nVersion: 1.0\n")
    with pytest.raises(ArtifactError, match="built"):
        install("built")
    assert not ran.exists()


def test_an_index_that_never_answers_is_given_up_in_time(install, wheels):
    began = time.monotonic()
    with (
        index(wheels, silent=True) as (url, _),
        pytest.raises(ArtifactError, match=r"^that was not done within 3 seconds\."),
    ):
        install("words", indexes=[url], seconds=3.0)
    assert time.monotonic() - began < 30


def test_a_tool_that_hangs_is_ended_with_what_it_has_started(install, tmp_path):
    program = tmp_path / "tool.py"
    program.write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "print('collecting words', flush=True)\ntime.sleep(100)\n"
    )
    with pytest.raises(ArtifactError, match=r"^that was not done within 2 seconds\. collecting words$"):
        install("words", seconds=2.0, tool=[sys.executable, str(program)])
    pid = (tmp_path / "child").read_text()
    try:
        with open(f"/proc/{pid}/stat") as file:
            assert file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        pass


def test_a_tool_that_is_not_there_is_told(install):
    with pytest.raises(OSError, match="nosuch"):
        install("words", tool=["/nosuch/tool"])


def test_what_an_index_can_be(tmp_path):
    assert check_index(str(tmp_path)) == str(tmp_path)
    assert check_index("https://pypi.org/simple") == "https://pypi.org/simple"
    for wrong in ("nosuch", "ftp://x/y", "https://x/ y", "https://[x"):
        with pytest.raises(UsageError, match=r"^The index "):
            check_index(wrong)
    with pytest.raises(UsageError, match=r"^The index at host has a password in its URL") as error:
        check_index("https://me:secret@host/simple")
    assert "secret" not in error.value.message


def test_other_requirements_come_out_otherwise(tmp_path):
    one = LocalInstaller([str(tmp_path)])
    assert one.identity != LocalInstaller(["https://x/simple"]).identity
    assert one.identity != LocalInstaller([str(tmp_path)], source_distributions=True).identity
    assert {"pitstop", "pyspark", "py4j", "structlog"} <= one.present.keys()
    assert one.present["structlog"] == importlib.metadata.version("structlog")
