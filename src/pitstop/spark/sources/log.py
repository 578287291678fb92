"""Log lines of sources: a source runs in a process of its own, whose standard error is the job's log."""

from __future__ import annotations

import json
import sys
import time


class SourceLog:
    """Writes JSON lines that name the source's kind, job and stage."""

    def __init__(self, kind: str, job: str, stage: str) -> None:
        self._facts = {"logger": f"pitstop.source.{kind}", "job": job, "stage": stage}

    def info(self, message: str) -> None:
        self._write("INFO", message)

    def warning(self, message: str) -> None:
        self._write("WARN", message)

    def _write(self, level: str, message: str) -> None:
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f",{int(now * 1000) % 1000:03d}"
        line = json.dumps({"time": stamp, "level": level, **self._facts, "msg": message}, ensure_ascii=False)
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
