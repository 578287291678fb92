"""``python -m pitstop.runner.archiving``: archive the classes that a runner loads (kit.class_archive), unless that is done."""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path

from pitstop.kit.class_archive import class_archive, forget_unused
from pitstop.kit.java import find_java, spark_home
from pitstop.kit.private import keep_private


def main() -> int:
    """0 if the archive is there now, or there can be none; 1 if Java has not made it."""
    keep_private()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        archive = class_archive(find_java(work / "java"), spark_home())
        if archive is None or archive.exists():
            return 0
        forget_unused(archive.parent)
        begun = archive.with_name(f"{archive.name}.{secrets.token_hex(4)}")
        try:
            _make(begun, work)
            if begun.exists():
                begun.rename(archive)
        finally:
            begun.unlink(missing_ok=True)
    return 0 if archive.exists() else 1


def _make(archive: Path, work: Path) -> None:
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
