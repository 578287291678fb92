"""Type checkers know what users call: mypy and pyright pass on the examples, and find each mistake in ``mistakes.py``."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MISTAKES = HERE / "mistakes.py"
EXAMPLES = [ROOT / "examples" / name for name in ("fleet", "nexmark", "orders")]
NOT_OURS = {"import-untyped", "import-not-found", "reportMissingImports"}
"""Codes for other projects' packages without types, and for modules that an archive brings."""


def by_mypy(folder, *files):
    """Return (file name, line, code) of each error that ``mypy --strict`` tells."""
    arguments = ["--strict", "--config-file=", "--output=json", f"--cache-dir={folder}", *map(str, files)]
    command = [sys.executable, "-m", "mypy", *arguments]
    environment = os.environ | {"MYPYPATH": os.pathsep.join(map(str, EXAMPLES))}
    answer = subprocess.run(command, cwd=files[0].parent, env=environment, capture_output=True, text=True)
    assert not answer.stderr
    errors = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    assert errors or answer.returncode == 0, answer.stdout
    return {(Path(e["file"]).name, e["line"], e["code"]) for e in errors if e["severity"] == "error"}


def by_pyright(folder, *files):
    """Return (file name, line, rule) of each error that pyright tells in its standard mode."""
    settings = {"include": [str(file) for file in files], "typeCheckingMode": "standard", "pythonVersion": "3.11"}
    settings["extraPaths"] = sorted({str(folder) for folder in EXAMPLES} | {str(file.parent) for file in files})
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [Path(sys.executable).with_name("basedpyright"), "--outputjson", "--pythonpath", sys.executable, "-p", folder]
    answer = subprocess.run(command, capture_output=True, text=True)
    report = json.loads(answer.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    errors = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    return {(Path(e["file"]).name, e["range"]["start"]["line"] + 1, e.get("rule", "")) for e in errors}


def mistakes():
    lines = MISTAKES.read_text().splitlines()
    return {(MISTAKES.name, number) for number, line in enumerate(lines, 1) if re.search(r"# mistake$", line)}


@pytest.mark.long
@pytest.mark.parametrize("check", [by_mypy, by_pyright])
def test_each_mistake_is_an_error_on_its_line_and_nothing_else_is(tmp_path, check):
    assert {(file, line) for file, line, _ in check(tmp_path, MISTAKES)} == mistakes()


@pytest.mark.long
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_mypy_finds_no_error_in_the_examples(tmp_path, folder):
    assert {each for each in by_mypy(tmp_path, *sorted(folder.glob("*.py"))) if each[2] not in NOT_OURS} == set()


@pytest.mark.long
def test_pyright_finds_no_error_in_the_examples(tmp_path):
    files = [file for folder in EXAMPLES for file in sorted(folder.glob("*.py"))]
    assert {each for each in by_pyright(tmp_path, *files) if each[2] not in NOT_OURS} == set()
