"""``python -m pitstop.runner.archiving``: makes the files that speed Spark up, once for the Java and the Spark at hand.

A jar of our own Java classes (machine.class_jar), and an archive of all classes that a runner loads (machine.class_archive).
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pitstop.machine.cache_folder import forget_unused
from pitstop.machine.class_archive import class_archive
from pitstop.machine.class_jar import class_jar, make_jar
from pitstop.machine.java import find_java, spark_home
from pitstop.machine.private import keep_private


def main() -> int:
    """Make the files. Return 0 if they are there now, or there can be none; 1 if Java has not made one of them."""
    keep_private()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        java = find_java(work / "java")
        outcomes = [provide_jar(java), _made(class_archive(java, spark_home()), lambda archive: _archive_classes(archive, work))]
    return 0 if all(outcomes) else 1


def provide_jar(java: Path) -> bool:
    """Make the jar of our classes, with the Java of that home, if there is none. Return False if it could not be made."""
    home = spark_home()
    return _made(class_jar(home), lambda jar: make_jar(jar, java, home))


def _made(file: Path | None, make: Callable[[Path], None]) -> bool:
    """Make a file, which appears as a whole, if it is not there. Return False if it could be there and is not."""
    if file is None or file.exists():
        return True
    forget_unused(file.parent)
    begun = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        make(begun)
        if begun.exists():
            begun.rename(file)
    finally:
        begun.unlink(missing_ok=True)
    return file.exists()


def _archive_classes(archive: Path, work: Path) -> None:
    """Let a session do what all runners do, and end it."""
    from pitstop.model.cluster import ClusterSettings
    from pitstop.spark.base.session import build_session, end_session
    from pitstop.spark.sources import register
    from pitstop.spark.starting.warm_up import use_formats, warm_up

    spark = build_session(ClusterSettings(), work, archive_classes=archive)
    register(spark)
    warm_up(spark, work / "warm-up")
    use_formats(spark, work / "formats")
    end_session(spark)


if __name__ == "__main__":
    sys.exit(main())
