"""Installation of packages that the environment of the server lacks, with uv or pip, in a process of its own.

First the tool lists the missing packages, then it puts them alone into the folder. So a job's packages fit those of the server,
which it runs with, and never take their place.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pitstop.errors import ArtifactError, UsageError
from pitstop.kit.version import __version__
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.processes import run_to_end
from pitstop.service.requirements import Needed

SECONDS = 300.0
"""The longest that an installation may take, from beginning to end, in seconds."""
TOLD_LINES = 3
TOLD_CHARACTERS = 600
_SAID_BESIDES = ("WARNING", "[notice]", "Using Python")
"""The amount of the tool's last output that goes into an error."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_CONFLICT = re.compile(r"The conflict is caused by:\n((?:[ \t]+\S.*\n)+)")
"""Matches the text in which pip tells that requirements exclude one another."""
_UV_MISSING = re.compile(r"^ \+ (\S+)==(\S+)", re.MULTILINE)
Pin = tuple[str, str]
"""(name, version)"""


class LocalInstaller:
    """service.dependencies.Installer: uv if it is on the PATH, else the pip of the server's own environment.

    ``indexes`` are URLs (PEP 503) or folders of wheels, and all that is asked. ``source_distributions``: packages may also be
    built here, which runs their code. ``seconds`` is how long one installation may take.
    """

    def __init__(
        self,
        indexes: Sequence[str],
        source_distributions: bool = False,
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
        tool: Sequence[str] | None = None,
    ) -> None:
        self._indexes, self._from_source, self._seconds = tuple(map(check_index, indexes)), source_distributions, seconds
        variables = runner_environment(os.environ) if environment is None else environment
        self._environment = _without_settings(variables)
        self._tool = tuple(tool) if tool is not None else None
        self.present = _present()

    @property
    def identity(self) -> Sequence[str]:
        source = "source" if self._from_source else "wheels"
        return (sys.implementation.cache_tag or "", sysconfig.get_platform(), source, *self._indexes)

    def install(self, requirements: Sequence[Needed], target: Path, scratch: Path) -> None:
        deadline = time.monotonic() + self._seconds
        pins = self._missing(requirements, scratch, deadline)
        target.mkdir()
        if not pins:
            return
        hashes = {(one.requirement.name): one.hashes for one in requirements}
        exact_versions = [Needed(f"{name}=={version}", hashes.get(name, ())) for name, version in pins]
        request = self._request(scratch / "chosen.txt", exact_versions)
        self._run([*self._install(), "--no-deps", "--target", str(target), *self._copying(), "-r", request], scratch, deadline)

    def _missing(self, requirements: Sequence[Needed], scratch: Path, deadline: float) -> list[Pin]:
        request = self._request(scratch / "wanted.txt", requirements)
        present = scratch / "present.txt"
        present.write_text("".join(f"{name}=={version}\n" for name, version in self.present.items()))
        common = ["--dry-run", "-r", request, "-c", present.name]
        if self._uses_uv:
            return _UV_MISSING.findall(self._run([*self._install(), *common], scratch, deadline))
        report = scratch / "report.json"
        self._run([*self._install(), "--report", str(report), *common], scratch, deadline)
        packages = [one["metadata"] for one in json.loads(report.read_text())["install"]]
        return [(canonicalize_name(one["name"]), str(one["version"])) for one in packages]

    def _request(self, path: Path, requirements: Sequence[Needed]) -> str:
        """Return the name of a requirements file that also says where to look for packages."""
        urls = [index for index in self._indexes if "://" in index]
        lines = [f"--index-url {urls[0]}"] if urls else ["--no-index"]
        lines += [f"--extra-index-url {url}" for url in urls[1:]]
        lines += [f"--find-links {index}" for index in self._indexes if index not in urls]
        lines += [] if self._from_source else ["--only-binary :all:"]
        path.write_text("\n".join([*lines, *(one.line for one in requirements)]) + "\n")
        return path.name

    def _install(self) -> list[str]:
        if self._uses_uv:
            return [*self._command, "pip", "install", "--no-config", "--no-progress", "--python", sys.executable]
        return [*self._command, "install", "--isolated", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]

    def _copying(self) -> list[str]:
        # Files that are linked into uv's cache would have their permissions changed there, too.
        return ["--link-mode", "copy"] if self._uses_uv else ["--no-warn-script-location"]

    @property
    def _command(self) -> tuple[str, ...]:
        if self._tool is not None:
            return self._tool
        uv = shutil.which("uv", path=self._environment.get("PATH"))
        if uv is not None:
            return (uv,)
        if importlib.util.find_spec("pip") is not None:
            return (sys.executable, "-m", "pip")
        raise ArtifactError("the server has neither uv nor pip to install packages with: install one of them there.")

    @property
    def _uses_uv(self) -> bool:
        return Path(self._command[0]).name == "uv"

    def _run(self, command: Sequence[str], scratch: Path, deadline: float) -> str:
        """Run the tool and return its output. ArtifactError, with its last lines, if it fails or is ended for taking too long."""
        log = scratch / "tool.log"
        log.unlink(missing_ok=True)
        try:
            code = run_to_end(command, log, self._environment, max(0.0, deadline - time.monotonic()), scratch)
        except subprocess.TimeoutExpired:
            raise ArtifactError(f"that was not done within {self._seconds:.0f} seconds. {_last_lines(log)}") from None
        if code != 0:
            raise ArtifactError(_last_lines(log) or f"{command[0]} ended with code {code} and said nothing.")
        return log.read_text(errors="replace")


def check_index(index: str) -> str:
    """Return the URL of an index, or the absolute path of a folder of wheels; UsageError if ``index`` is neither."""
    if "://" not in index:
        folder = Path(index).absolute()
        if not folder.is_dir():
            raise UsageError(f"The index {index} is neither a URL nor a folder.")
        return str(folder)
    try:
        url = urlsplit(index)
    except ValueError:
        url = urlsplit("")
    if url.scheme not in ("http", "https", "file") or any(character.isspace() for character in index):
        raise UsageError(f"The index {index} is no http, https or file URL, and no folder.")
    if url.username is not None or url.password is not None:
        raise UsageError(f"The index at {url.hostname} has a password in its URL, which others could see: put it into ~/.netrc.")
    return index


def _without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Nothing but the server's options says where packages come from."""
    variables = {name: value for name, value in environment.items() if not name.startswith(("PIP_", "UV_", "PYTHON"))}
    return variables | {"PIP_CONFIG_FILE": os.devnull, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}


def _present() -> dict[str, str]:
    """Return Pitstop, and all packages that it needs, with their versions: a job must not bring these along."""
    versions: dict[str, str] = {}
    pending = ["pitstop", "pyspark"]
    while pending:
        name = canonicalize_name(pending.pop())
        try:
            package = distribution(name)
        except PackageNotFoundError:  # of another system, or not wanted here
            continue
        if name not in versions:
            versions[name] = package.version
            needs = map(Requirement, package.requires or ())
            pending += [one.name for one in needs if one.marker is None or one.marker.evaluate({"extra": ""})]
    # Also where it runs from its sources: another package of that name must never be installed.
    return dict(sorted(({"pitstop": __version__} | versions).items()))


def _last_lines(log: Path) -> str:
    """Return the last lines of the tool's output as one. If there are lines that begin with ERROR, it is these."""
    text = _ESCAPES.sub("", log.read_text(errors="replace"))
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        return f"These exclude one another: {'; '.join(map(str.strip, conflict.group(1).splitlines()))}."[:TOLD_CHARACTERS]
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(_SAID_BESIDES)]
    errors = [line[6:].strip() for line in lines if line.upper().startswith("ERROR:")]
    errors += [line for line in lines if errors and line.startswith("cause:")]  # uv's
    return " ".join((errors or lines)[-TOLD_LINES:])[:TOLD_CHARACTERS]
