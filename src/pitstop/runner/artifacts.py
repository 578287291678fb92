"""Open the file of a job and find the entry in it."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
import tempfile
import traceback
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from pitstop.errors import ArtifactError, PitstopError
from pitstop.pipeline.job import JobDefinition

MOST_UNPACKED = 2 << 30
"""The most bytes of an archive once it is unpacked."""
MOST_OF_MODULE = 32 << 20
"""The most bytes of one module."""
_WHERE_TO_ADD = {
    ".py": "If it is a file of yours, submit a .zip with both files. If a package has it, name that in the head of the file "
    "(# /// script, dependencies), or with -O requirements=...",
    ".zip": "If it is a file of yours, put it into the archive. If a package has it, name that in requirements.txt of the "
    "archive, or with -O requirements=...",
    ".whl": "If a package has it, name that in the wheel's dependencies, or with -O requirements=...",
}
"""Suffix of an artifact -> the advice about a missing module."""


def load_entry(
    artifact: Path, entry: str | None, dependencies: Path | None = None, importable: Path | None = None
) -> JobDefinition[...]:
    """Return the job of an artifact. ``entry`` is ``module:function`` or ``function``; None if there is exactly one job.

    ``dependencies`` is the folder with the packages that it needs; ``importable`` is importable_copy's. ArtifactError tells what
    is wrong: not readable, no such module, no such job, several jobs and none named.
    """
    if not artifact.is_file():
        raise ArtifactError(f"File {artifact} could not be found.")
    if dependencies is not None:
        if not dependencies.is_dir():
            loss = f"The packages that {artifact.name} needs are gone from {dependencies}"
            raise ArtifactError(f"{loss}: update the job with the same artifact, and they are installed again.")
        sys.path.insert(0, str(dependencies))
    if artifact.suffix == ".sql":
        return _program(artifact, entry)
    module_name, _, function = (entry or "").rpartition(":")
    if artifact.suffix == ".py":
        module = _load_file(artifact)
    elif artifact.suffix in (".zip", ".whl"):
        module = _load_from_archive(artifact, module_name, importable or artifact)
    else:
        raise ArtifactError(f"{artifact.name} is not a .py, .zip, .whl or .sql file.")
    named = entry if module_name not in ("", artifact.stem) and artifact.suffix == ".py" else function
    return _pick(module, artifact, function or None, named)


def importable_copy(artifact: Path, scratch: Path) -> Path:
    """Return the artifact in a form from which Python and Spark's Python workers import; itself if it has that form.

    A wheel is an archive that workers do not know as one. In archives without entries for folders, as some tools write them,
    Python finds no package that has no ``__init__.py``. The copy in ``scratch`` must stay as long as the session: executors fetch
    it when they first need it.
    """
    if artifact.suffix in (".py", ".sql"):
        return artifact
    try:
        missing = _folders_without_entry(artifact)
    except (OSError, zipfile.BadZipFile):  # who loads it says so
        return artifact
    if artifact.suffix == ".zip" and not missing:
        return artifact
    copy = Path(shutil.copy(artifact, Path(tempfile.mkdtemp(dir=scratch)) / f"{artifact.stem}.zip"))
    with zipfile.ZipFile(copy, "a") as archive:
        for folder in missing:
            archive.writestr(zipfile.ZipInfo(folder), b"")
    return copy


def _program(artifact: Path, entry: str | None) -> JobDefinition[...]:
    # Reading SQL takes a quarter of a second of imports, which the start of other jobs need not wait for.
    from pitstop.sql.programs import read_program

    try:
        program = read_program(artifact.read_text())
    except UnicodeDecodeError:
        raise ArtifactError(f"{artifact.name} is not UTF-8 text.") from None
    if entry not in (None, program.job.name):
        raise ArtifactError(f"{artifact.name} has no job '{entry}'. It has: {program.job.name}.")
    return program.definition()


def _folders_without_entry(artifact: Path) -> list[str]:
    with zipfile.ZipFile(artifact) as archive:
        names = set(archive.namelist())
    folders = {f"{parent}/" for name in names for parent in PurePosixPath(name).parents if name.endswith(".py")} - {"./", "//"}
    return sorted(folders - names)


def _load_file(artifact: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(artifact.stem, artifact)
    if spec is None or spec.loader is None:
        raise ArtifactError(f"{artifact.name} cannot be read as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[artifact.stem] = module
    sys.path.insert(0, str(artifact.parent))
    loader = spec.loader

    def load() -> ModuleType:
        loader.exec_module(module)
        return module

    return _run(load, artifact)


def _load_from_archive(artifact: Path, module_name: str, importable: Path) -> ModuleType:
    if not zipfile.is_zipfile(artifact):
        raise ArtifactError(f"{artifact.name} is damaged: it is not a zip archive.")
    _refuse_bomb(artifact)
    sys.path.insert(0, str(importable))
    if not module_name:
        module_name = _only_module(artifact)
    return _run(lambda: importlib.import_module(module_name), artifact)


def _refuse_bomb(artifact: Path) -> None:
    """Raise ArtifactError if a small archive has a huge content, or a module in it is not as large as it says.

    Python unpacks the modules that are imported without a bound, and Spark's executors the whole archive.
    """
    with zipfile.ZipFile(artifact) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > MOST_UNPACKED:
            raise ArtifactError(f"{artifact.name} is larger than {MOST_UNPACKED >> 20} MiB once it is unpacked.")
        for member in members:
            if member.filename.endswith(".py"):
                _read_through(archive, member, artifact)


def _read_through(archive: zipfile.ZipFile, member: zipfile.ZipInfo, artifact: Path) -> None:
    if member.file_size > MOST_OF_MODULE:
        raise ArtifactError(f"Module {member.filename} in {artifact.name} is larger than {MOST_OF_MODULE >> 20} MiB.")
    try:
        with archive.open(member) as file:
            while file.read(1 << 20):  # ends where the archive says that it does, and compares the checksum
                pass
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise ArtifactError(f"{artifact.name} is damaged: {member.filename} does not match the archive's directory.") from None


def _only_module(artifact: Path) -> str:
    with zipfile.ZipFile(artifact) as archive:
        names = [n for n in archive.namelist() if n.endswith(".py") and ".dist-info/" not in n]
        jobs = [n for n in names if b"job" in archive.read(n) and b"pitstop" in archive.read(n)]
    if len(jobs) != 1:
        raise ArtifactError(f"{artifact.name} holds {len(jobs)} modules with jobs: name one as entry (-c).")
    return jobs[0].removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def _run(load: Any, artifact: Path) -> ModuleType:
    try:
        module: ModuleType = load()
    except PitstopError:
        raise
    except ModuleNotFoundError as error:
        missing = f"{artifact.name} needs or names a module that is not there: {error.name}."
        raise ArtifactError(f"{missing} {_WHERE_TO_ADD[artifact.suffix]}") from error
    except SyntaxError as error:
        raise ArtifactError(f"{artifact.name} is not valid Python: {error.msg} (line {error.lineno}).") from error
    except SystemExit as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        code = "" if error.code is None else repr(error.code)
        raise ArtifactError(f"{artifact.name} called sys.exit({code}) while it was loaded (line {line}).") from error
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        raise ArtifactError(
            f"{artifact.name} failed while it was loaded: {type(error).__name__}: {error} (line {line})."
        ) from error
    return module


def _pick(module: ModuleType, artifact: Path, function: str | None, named: str | None) -> JobDefinition[...]:
    jobs = {name: value for name, value in vars(module).items() if isinstance(value, JobDefinition)}
    if function is not None:
        if function not in jobs:
            contents = f"It has: {', '.join(sorted(jobs))}." if jobs else "It has no function marked with @ps.job."
            raise ArtifactError(f"{artifact.name} has no job '{named}'. {contents}")
        return jobs[function]
    if not jobs:
        raise ArtifactError(f"{artifact.name} has no job: mark its function with @ps.job.")
    if len(jobs) > 1:
        raise ArtifactError(f"{artifact.name} has several jobs ({', '.join(sorted(jobs))}): name one as entry (-c).")
    return next(iter(jobs.values()))
