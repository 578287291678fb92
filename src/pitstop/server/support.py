"""Support bundles: an archive that tells somebody else how a server and its jobs are, without data and without secrets."""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import tarfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from pitstop.errors import PitstopError
from pitstop.kit.jsonable import to_json
from pitstop.kit.version import __version__
from pitstop.machine.java import find_java, version_of
from pitstop.machine.memory import memory_bytes
from pitstop.machine.named_secrets import VARIABLE
from pitstop.machine.rotating import full_parts
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.rest.metrics import exposition
from pitstop.server.redacting import Redactor, secrets_at
from pitstop.server.settings import Settings
from pitstop.service.api import Service
from pitstop.service.job_results import JobStatus
from pitstop.store.catalog import SqlCatalog

LOG_BYTES = 256 << 10
"""The end of each log that is in a bundle."""
MOST_ENDED = 200
"""The newest ended jobs in a bundle; jobs that have not ended are all there."""
MOST_DETAILED = 50
"""The jobs with events, options and log: first those that have failed or are suspended."""
MOST_EVENTS = 200
_OURS = ("pitstop", "org.apache", "org.sparkproject", "py4j", "uvicorn", "alembic", "sqlalchemy", "asyncio")
"""The loggers whose lines are no data. Other loggers are those of jobs' own code, whose lines may be."""
_OF_DATA = ("pitstop.sink",)
"""Our loggers whose lines are rows."""


class SupportDesk:
    """Makes support bundles of a server."""

    def __init__(self, data: DataFolder, settings: Settings | None = None, catalog: SqlCatalog | None = None) -> None:
        """``settings`` and ``catalog``: of the server; None: a folder whose server does not run."""
        self._data, self._settings, self._catalog = data, settings, catalog

    def bundle(self, service: Service | None) -> bytes:
        """Return a bundle (tar.gz). ``service`` tells of the jobs; None: no server runs, and logs and versions have to do."""
        documents = dict(self._documents(service))
        redactor = Redactor(secrets_at(self._data, self._settings.secrets if self._settings is not None else None))
        redactor.learn(dict(os.environ))
        for document in documents.values():
            redactor.learn(document)
        if self._catalog is not None:
            for thing in self._catalog.all().values():
                redactor.learn(getattr(thing, "options", None))
        chosen = _most_telling(service.jobs(include_ended=True)) if service is not None else None
        logs = {name: list(_last_lines(path)) for name, path in self._logs(chosen)}
        for lines in logs.values():
            for line in lines:
                redactor.learn(line)
        stem = time.strftime("pitstop-support-%Y%m%d-%H%M%S", time.gmtime())
        members = {f"{name}.json": _document(redactor.value(document)) for name, document in documents.items()}
        if service is not None:
            members["metrics.txt"] = redactor.text(exposition(service).decode())
        members |= {f"{name}.jsonl": _without_data(lines, redactor) for name, lines in logs.items()}
        return _archive({f"{stem}/{name}": text for name, text in members.items()})

    def _documents(self, service: Service | None) -> Iterator[tuple[str, Any]]:
        yield "versions", versions(self._data)
        if self._settings is not None:
            yield "settings", to_json(self._settings)
        if service is None:
            return
        jobs = service.jobs(include_ended=True)
        yield "cluster", to_json(service.server_info())
        yield "keep", to_json(service.settings())
        yield "snapshots", to_json(service.snapshots())
        ended = [job for job in jobs if not job.active]
        yield "jobs", to_json([job for job in jobs if job.active] + ended[:MOST_ENDED])
        yield (
            "left-out",
            {"ended jobs": max(0, len(ended) - MOST_ENDED), "jobs without details": max(0, len(jobs) - MOST_DETAILED)},
        )
        for job in _most_telling(jobs):
            with suppress(PitstopError):  # it was removed meanwhile
                events = service.job_events(job.id, limit=10_000).events[-MOST_EVENTS:]
                yield f"jobs/{job.id}/events", to_json(events)
                yield f"jobs/{job.id}/versions", to_json(service.versions(job.id))
                yield f"jobs/{job.id}/options", to_json(service.options(job.id))

    def _logs(self, jobs: list[JobStatus] | None) -> Iterator[tuple[str, Path]]:
        data = self._data
        yield "logs/server", data.log
        yield "logs/spark-master", data.spark_master.log
        for member in _newest(data.members):
            yield f"logs/members/{member.name}", data.member(member.name).log
            yield f"logs/members/{member.name}-process", data.member(member.name).member_log
        for engine in _newest(data.engines):
            yield f"logs/engines/{engine.name}", data.engine(engine.name).log
        names = [job.id for job in jobs] if jobs is not None else [folder.name for folder in _newest(data.jobs)]
        for name in names:
            yield f"jobs/{name}/log", data.job(name).log


def versions(data: DataFolder) -> dict[str, Any]:
    """Return the versions of all that takes part, and the size of the machine."""
    try:
        system = platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        system = None
    try:
        home = find_java(data.java)
        java: dict[str, Any] = {"home": str(home), "version": version_of(home / "bin" / "java"), "release": _release(home)}
    except PitstopError as error:
        java = {"error": error.message}
    disk = os.statvfs(data.root)
    return {
        "pitstop": __version__,
        "spark": metadata.version("pyspark"),
        "python": platform.python_version(),
        "java": java,
        "system": {"name": system, "kernel": platform.platform(), "libc": " ".join(platform.libc_ver())},
        "machine": {
            "cores": os.cpu_count(),
            "memory bytes": memory_bytes(),
            "free disk bytes": disk.f_bavail * disk.f_frsize,
            "disk bytes": disk.f_blocks * disk.f_frsize,
        },
        "packages": dict(sorted((each.name, each.version) for each in metadata.distributions())),
        "variables": sorted(name for name in os.environ if name.startswith("PITSTOP_") and not name.startswith(VARIABLE)),
    }


def _release(home: Path) -> dict[str, str]:
    """Return the facts that a JDK has in its file ``release``."""
    with suppress(OSError):
        lines = (home / "release").read_text().splitlines()
        return {name: value.strip('"') for name, separator, value in (line.partition("=") for line in lines) if separator}
    return {}


def _most_telling(jobs: Iterable[JobStatus]) -> list[JobStatus]:
    """Return the jobs whose details are in a bundle: trouble first, then those that go on, each the newest first."""
    trouble = (JobState.SUSPENDED, JobState.FAILED)

    def rank(job: JobStatus) -> int:
        return 0 if job.status in trouble and not job.user_cancelled else 1 if job.active else 2

    return sorted(jobs, key=rank)[:MOST_DETAILED]


def _newest(folder: Path) -> list[Path]:
    """Return the folders in a folder, those first that were changed last."""
    if not folder.is_dir():
        return []
    return sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: -each.stat().st_mtime)[:MOST_DETAILED]


def _last_lines(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the last lines of a log, whole ones only. A line in another form is the message of a logger without a name."""
    older = [part.path for part in full_parts(log)][-1:]
    content = b"".join(_end_of(path) for path in (*older, log))
    lines = content[-LOG_BYTES:].splitlines()
    for raw in lines[1:] if len(content) > LOG_BYTES else lines:
        try:
            line = json.loads(raw)
        except ValueError:
            line = None
        yield line if isinstance(line, dict) else {"msg": raw.decode(errors="replace")}


def _end_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES - 1))
            return file.read(LOG_BYTES + 1)
    except FileNotFoundError:
        return b""


def _without_data(lines: Iterable[dict[str, Any]], redactor: Redactor) -> str:
    """Return the lines of our own loggers. Lines that others have logged or printed are counted."""
    texts, left_out = [], 0
    for line in lines:
        if _is_ours(str(line.get("logger", ""))):
            texts.append(json.dumps(redactor.value(line), ensure_ascii=False))
        else:
            left_out += 1
    if left_out:
        texts.append(json.dumps({"msg": "lines of other loggers are left out, because they may be data", "lines": left_out}))
    return "".join(f"{text}\n" for text in texts)


def _is_ours(logger: str) -> bool:
    def is_below(names: tuple[str, ...]) -> bool:
        return any(logger == name or logger.startswith(f"{name}.") for name in names)

    return is_below(_OURS) and not is_below(_OF_DATA)


def _document(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _archive(members: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with gzip.GzipFile(fileobj=content, mode="wb") as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in members.items():
            raw = text.encode(errors="replace")
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(raw), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(raw))
    return content.getvalue()
