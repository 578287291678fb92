"""The packages that an artifact needs, read from its own list without running any of its code.

A ``.py`` file lists them in its head (PEP 723), an archive in ``requirements.txt``, a wheel in its metadata. A submission can add
more.
"""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from pitstop.errors import ArtifactError

REQUIREMENTS = "requirements.txt"
MOST_BYTES = 1 << 20
"""The most bytes of a list of requirements."""
MOST_LISTED = 1000
_SCRIPT = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""A block of metadata in a script, in the form of PEP 723."""
_HASHES = re.compile(r"\s--hash=(\w+:[0-9a-fA-F]+)")
_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError)
"""The errors of archives that are damaged, encrypted, or packed in an unknown way."""
_NETWORK = ("index", "index-url", "extra-index-url", "default-index", "find-links", "sources", "no-index")


@dataclass(frozen=True, order=True)
class Needed:
    """A package that is needed."""

    text: str
    """The name, extras, versions and marker, in the normal form."""
    hashes: tuple[str, ...] = ()
    """The accepted hashes, ``sha256:...``, of the installed file; empty: any file of the index."""

    @property
    def requirement(self) -> Requirement:
        return Requirement(self.text)

    @property
    def line(self) -> str:
        return " ".join([self.text, *(f"--hash={digest}" for digest in self.hashes)])


def needed(artifact: Path, added: Iterable[str], present: Mapping[str, str]) -> tuple[Needed, ...]:
    """Return, in order, the packages that an artifact and the additions of its submission need besides the ``present`` ones.

    ``present`` holds the versions of packages that every job finds, by their normal names. ArtifactError names a wrong line, or a
    demand that a present package does not meet.
    """
    requirements = [_read(line, where) for line, where in _listed(artifact)] + [
        _read(line, "the option requirements") for line in added
    ]
    if len(requirements) > MOST_LISTED:
        raise ArtifactError(
            f"{artifact.name} lists {len(requirements):,} requirements: at most {MOST_LISTED:,} can be installed."
        )
    return tuple(sorted({one for one in requirements if _applies(one) and not _is_present(one, present, artifact)}))


def _listed(artifact: Path) -> list[tuple[str, str]]:
    """Return (requirement, the place of its list) for each requirement that the artifact lists."""
    if artifact.suffix == ".py":
        return _of_script(artifact)
    if not zipfile.is_zipfile(artifact):
        return []  # a damaged archive is reported when it is opened
    try:
        with zipfile.ZipFile(artifact) as archive:
            return _of_wheel(archive, artifact) if artifact.suffix == ".whl" else _of_archive(archive, artifact)
    except _DAMAGED as error:
        raise ArtifactError(f"{artifact.name} is damaged: its requirements cannot be read: {error}.") from None


def _of_script(artifact: Path) -> list[tuple[str, str]]:
    text = artifact.read_text(errors="replace").replace("\r\n", "\n")
    blocks = [match for match in _SCRIPT.finditer(text) if match.group("type") == "script"]
    if len(blocks) > 1:
        raise ArtifactError(f"{artifact.name} has {len(blocks)} blocks of script metadata: leave one.")
    if not blocks:
        return []
    where = f"the script metadata of {artifact.name}"
    lines = blocks[0].group("content").splitlines(keepends=True)
    try:
        metadata = tomllib.loads("".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))
    except tomllib.TOMLDecodeError as error:
        raise ArtifactError(f"{where[0].upper()}{where[1:]} is not TOML: {error}.") from None
    _refuse_other_python(metadata.get("requires-python"), artifact)
    _refuse_network_settings(metadata, where)
    dependencies = metadata.get("dependencies", [])
    if not isinstance(dependencies, list):
        raise ArtifactError(f"'dependencies' in {where} is no list.")
    return [(str(line), where) for line in dependencies]


def _of_wheel(archive: zipfile.ZipFile, artifact: Path) -> list[tuple[str, str]]:
    names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1]
    if not names:
        return []
    metadata = HeaderParser().parsestr(_text(archive, names[0], artifact))
    _refuse_other_python(metadata.get("Requires-Python"), artifact)
    return [(line, f"the metadata of {artifact.name}") for line in metadata.get_all("Requires-Dist", [])]


def _of_archive(archive: zipfile.ZipFile, artifact: Path) -> list[tuple[str, str]]:
    if REQUIREMENTS not in archive.namelist():
        return []
    where, requirements = f"{REQUIREMENTS} of {artifact.name}", []
    text = _text(archive, REQUIREMENTS, artifact).replace("\\\r\n", " ").replace("\\\n", " ")
    for line in text.splitlines():
        requirement = re.sub(r"(^|\s)#.*$", "", line).strip()
        if requirement:
            requirements.append((requirement, where))
    return requirements


def _text(archive: zipfile.ZipFile, name: str, artifact: Path) -> str:
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise ArtifactError(f"{name} in {artifact.name} is larger than {MOST_BYTES >> 20} MiB.")
    return archive.read(name).decode("utf-8", errors="replace")


def _read(line: str, where: str) -> Needed:
    hashes = tuple(sorted(_HASHES.findall(line)))
    bare = _HASHES.sub("", line).strip()
    try:
        # A line break within a quoted text of a marker would begin another line of the tool's requirements.
        requirement = Requirement(bare) if bare.isprintable() else None
    except InvalidRequirement:
        requirement = None
    if requirement is None or requirement.url is not None:
        why = "where packages come from is the server's to say" if _is_setting(bare) else "write a name, and versions if you like"
        raise ArtifactError(f"'{bare[:200]}' in {where} is not an installable requirement: {why}, such as 'six>=1.16'.")
    requirement.name = canonicalize_name(requirement.name)
    return Needed(str(requirement), hashes)


def _is_setting(line: str) -> bool:
    return line.startswith("-") or "://" in line or "@" in line


def _applies(one: Needed) -> bool:
    marker = one.requirement.marker
    try:
        return marker is None or marker.evaluate({"extra": ""})
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise ArtifactError(f"'{one.text[:200]}' cannot be read: {error}.") from None


def _is_present(one: Needed, present: Mapping[str, str], artifact: Path) -> bool:
    requirement = one.requirement
    version = present.get(requirement.name)
    if version is None:
        return False
    if not requirement.specifier.contains(version, prereleases=True):
        demand = f"{artifact.name} asks for {requirement.name}{requirement.specifier}"
        raise ArtifactError(f"{demand}, and this server works with {requirement.name} {version}: change the requirement.")
    return not requirement.extras


def _refuse_other_python(specifier: object, artifact: Path) -> None:
    if specifier is None:
        return
    here = ".".join(map(str, sys.version_info[:3]))
    try:
        fits = SpecifierSet(str(specifier)).contains(here, prereleases=True)
    except InvalidSpecifier:
        raise ArtifactError(f"{artifact.name} asks for Python '{specifier}', which names no versions.") from None
    if not fits:
        raise ArtifactError(f"{artifact.name} asks for Python {specifier}, and this server runs {here}.")


def _refuse_network_settings(metadata: Mapping[str, Any], where: str) -> None:
    uv = _table(_table(metadata, "tool"), "uv")
    keys = [key for key in (*uv, *_table(uv, "pip")) if key in _NETWORK]
    if keys:
        raise ArtifactError(
            f"'{keys[0]}' in {where} is not followed: where packages come from is the server's to say. Remove it."
        )


def _table(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = parent.get(name)
    return table if isinstance(table, dict) else {}
