"""Java classes of our own as a jar, compiled once with the compiler that Spark brings along, for the class path of every Java."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import MutableMapping
from pathlib import Path

from pitstop.errors import EngineError
from pitstop.machine.cache_folder import cache_folder, is_made

CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""The variable whose files Spark puts at the end of the class path of whatever it starts."""
COMPILE_SECONDS = 120.0
_SOURCES = Path(__file__).parents[1] / "java"
_MAKER = "MakeJar"
_FILE_SYSTEM = "LocalFiles"


def source_of(name: str) -> Path:
    """Return the Java file of a class of ours."""
    return _SOURCES / f"{name}.java"


def class_jar(spark_home: Path) -> Path | None:
    """Return the jar for this Spark, whether or not it has been made; None if there can be none."""
    folder, jars = cache_folder(), spark_home / "jars"
    if folder is None or os.pathsep in str(folder):
        return None
    inputs = (str(jars), jars.stat().st_mtime_ns, *(path.read_bytes() for path in sorted(_SOURCES.glob("*.java"))))
    return folder / f"classes-{hashlib.sha256(repr(inputs).encode()).hexdigest()[:16]}.jar"


def make_jar(jar: Path, java_home: Path, spark_home: Path) -> None:
    """Compile our classes into a jar, in which Hadoop finds its file system of local files. EngineError if that fails."""
    java = [str(java_home / "bin" / "java"), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{spark_home}/jars/*"]
    sources = (str(path) for path in sorted(_SOURCES.glob("*.java")) if path.stem != _MAKER)
    command = [*java, "org.codehaus.janino.SimpleCompiler", str(source_of(_MAKER)), _MAKER, str(jar), _FILE_SYSTEM, *sources]
    compilation = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    if compilation.returncode:
        raise EngineError(
            f"The Java classes of Pitstop could not be compiled: {(compilation.stderr or compilation.stdout).strip()}"
        )


def put_on_class_path(jar: Path | None, environment: MutableMapping[str, str]) -> None:
    """Put a jar, if it has been made, on the class path of the processes that Spark starts with that environment."""
    if jar is None or not is_made(jar):
        return
    before = environment.get(CLASS_PATH)
    if str(jar) not in (before or "").split(os.pathsep):
        environment[CLASS_PATH] = os.pathsep.join([before, str(jar)] if before else [str(jar)])
