"""The command that makes a project: a job, its next version, tests of both, and all that belongs beside them."""

from __future__ import annotations

import json
import keyword
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer

from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.errors import UsageError
from pitstop.kit.version import __version__

_TEMPLATES = {
    "$name.py": "job.py",
    "${name}_v2.py": "job_v2.py",
    "test_$name.py": "test_job.py",
    "jobs.yaml": "jobs.yaml",
    "requirements.txt": "requirements.txt",
    "README.md": "README.md",
    ".github/workflows/ci.yml": "ci.yml",
    ".gitignore": "gitignore",
}
"""Each file of a project, with the template that it is made from."""
_TAKEN = frozenset(("pitstop", "pytest", "test", "pyspark", "pandas", "pyarrow", "numpy", "yaml")) | sys.stdlib_module_names
"""Modules that the project's own files import, or what they import: a job of that name would stand before them."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, init)


def init(
    call: Call,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder; its name becomes the job's")] = Path(
        "."
    ),
) -> None:
    """Make a project that runs as it is: a job, its version 2, their tests, jobs.yaml, requirements, README and a CI file."""
    name = job_name(folder.resolve().name)
    contents = project(name)
    there = [path for path in contents if (folder / path).exists()]
    if there:
        raise UsageError(
            f"{folder / there[0]} is there already: give a folder without it, so that nothing of yours is overwritten."
        )
    try:
        for path, text in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    except OSError as error:
        raise UsageError(f"The project cannot be written into {folder}: {error.strerror}.") from None
    if call.structured:
        call.show({"name": name, "folder": str(folder.resolve()), "files": list(contents)})
    into = "" if folder == Path(".") else f"cd {folder} && "
    call.say(f"Made the project '{name}': {', '.join(contents)}.")
    here = path_of(_origin())
    if here is not None:
        call.say(f"requirements.txt installs Pitstop from {here}: change that line before another machine installs it.")
    call.say(f"Next: {into}python -m pytest. The job counts speeds of cars: README.md says how to make it yours.")


def job_name(folder: str) -> str:
    """Return the name of the job for a folder, which is a name in Python, too. UsageError if none can be made of it."""
    name = re.sub(r"[^a-z0-9]+", "_", folder.lower()).strip("_")
    if not name or name[0].isdigit() or keyword.iskeyword(name) or name in _TAKEN:
        raise UsageError(f"The folder's name '{folder}' cannot name a job: give a folder such as 'speeds'.")
    return name


def project(name: str) -> dict[str, str]:
    """Return the files of a project, by their paths."""
    folder = files("pitstop.cli") / "project"
    values = {"name": name, "requirement": requirement()}
    contents = {
        Template(path).substitute(values): Template((folder / f"{template}.txt").read_text()).substitute(values)
        for path, template in _TEMPLATES.items()
    }
    return contents | {"data/1.csv": _rows()}


def requirement() -> str:
    """Return the line of requirements.txt by which pip installs this Pitstop: by its version, or from where it was installed."""
    origin = _origin()
    return f"pitstop=={__version__}" if origin is None else requirement_of(origin)


def _origin() -> dict[str, Any] | None:
    """Return what pip notes of an installation from a URL (PEP 610); None for one from an index."""
    try:
        text = distribution("pitstop").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    return None if text is None else dict(json.loads(text))


def requirement_of(origin: dict[str, Any]) -> str:
    """Return the requirement for what pip notes of an installation from a URL (PEP 610)."""
    url, info = str(origin["url"]), origin.get("vcs_info")
    if info is not None:
        return f"pitstop @ {info['vcs']}+{url}@{info['commit_id']}"
    if origin.get("dir_info", {}).get("editable"):
        return f"-e {url2pathname(urlsplit(url).path)}"
    return f"pitstop @ {url}"


def path_of(origin: dict[str, Any] | None) -> str | None:
    """Return the path on this machine that Pitstop was installed from; None if other machines can install it from there, too."""
    address = urlsplit(str(origin["url"])) if origin is not None else None
    return url2pathname(address.path) if address is not None and address.scheme == "file" else None


def _rows() -> str:
    """Return ten minutes of three cars, a row a second."""
    return "".join(f"car{s % 3},{40 + s % 50},2026-01-01 00:{s // 60:02}:{s % 60:02}\n" for s in range(600))
