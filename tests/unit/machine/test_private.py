"""What only its owner may look into."""

import os
import subprocess
import sys

import pytest

from pitstop.errors import UsageError
from pitstop.machine.private import private_folder, read_private, write_private


def mode(path):
    return path.stat().st_mode & 0o777


def test_a_folder_that_is_made_is_the_owners_alone(tmp_path):
    assert mode(private_folder(tmp_path / "a" / "b")) == 0o700


def test_a_folder_that_stood_open_is_closed(tmp_path):
    tmp_path.chmod(0o755)
    assert mode(private_folder(tmp_path)) == 0o700


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        private_folder(tmp_path)


def test_a_file_is_written_for_its_owner_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        write_private(tmp_path / "token", "x")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "token"), read_private(tmp_path / "token", "token file")) == (0o600, "x")
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_what_is_no_text_is_told(tmp_path):
    (tmp_path / "token").write_bytes(b"\xff\xfe\xfd")
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(UsageError, match=r"^The token file .* cannot be read: it is not text\.$"):
        read_private(tmp_path / "token", "token file")


CODE = """
import os, sys
from pathlib import Path
from pitstop.machine.private import keep_private, usual_mode
os.umask(0o022)
print(f"{usual_mode(0o666):o}")
keep_private()
Path("private").touch()
Path("for-all").touch(); Path("for-all").chmod(usual_mode(0o666))
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"])
"""


def test_all_that_a_process_makes_is_private_but_what_is_for_others(tmp_path):
    """Also in a process that it starts, which finds the private mask already set."""
    (tmp_path / "code.py").write_text(CODE.replace("os.umask(0o022)", "os.umask(0o022) if len(sys.argv) == 1 else None"))
    done = subprocess.run([sys.executable, "code.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["644", "644"]
    assert (mode(tmp_path / "private"), mode(tmp_path / "for-all")) == (0o600, 0o644)
