"""The file of ``pitstop apply``: jobs by name, as they are to be."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.model.config import OPTIONS

STATES = ("running", "suspended")
_KEYS = ("artifact", "entry", "args", "options", "initial_snapshot", "state")
_OPTIONS = {option.name for option in OPTIONS} - {"initial_snapshot"}


@dataclass(frozen=True)
class DesiredJob:
    """A job as the file says that it is to be."""

    name: str
    artifact: str
    """The path of a file on this machine, or a URL that the server reads."""
    entry: str | None = None
    args: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    initial_snapshot: str | None = None
    """The snapshot that the job starts from when it is made; it says nothing about a job that is there."""
    suspended: bool = False

    @property
    def is_remote(self) -> bool:
        """True if the server reads the artifact itself."""
        return "://" in self.artifact


def read_jobs(path: Path, environment: str | None = None) -> list[DesiredJob]:
    """Return the jobs of a file, in its order, as they are to be in one of its environments; None: in none of them.

    UsageError, with the job and the key, for what cannot be right, also in other environments.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"The file {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark is not None else ""
        raise UsageError(f"{path}{place} is no YAML: {getattr(error, 'problem', None) or error}.") from None
    if not isinstance(content, dict) or not isinstance(content.get("jobs"), dict):
        raise UsageError(f"{path} has no jobs: write 'jobs:', and below it a name and what belongs to it for each job.")
    _only(content, ("jobs", "environments"), f"{path}")
    base, environments = content["jobs"], content.get("environments") or {}
    if not isinstance(environments, dict) or any(not isinstance(each, dict) for each in environments.values()):
        raise UsageError(f"{path}: environments are names, and below each the keys of jobs that differ there.")
    if environment is not None and environment not in environments:
        names = f"There are: {', '.join(map(str, environments))}." if environments else "It has none."
        raise UsageError(f"{path} has no environment '{environment}'. {names}")
    jobs: dict[str | None, list[DesiredJob]] = {None: _jobs(path, f"{path}", base)}
    for name, changes in environments.items():
        where = f"{path}, environment '{name}'"
        jobs[str(name)] = _jobs(path, where, _merged(where, base, changes))
    return jobs[environment]


def _jobs(path: Path, where: str, jobs: dict[Any, Any]) -> list[DesiredJob]:
    return [_job(path, f"{where}, job '{name}'", str(name), facts) for name, facts in jobs.items()]


def _merged(where: str, base: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    """Return the jobs with the keys of an environment in the place of their own, and its options beside their own."""
    merged = dict(base)
    for name, keys in changes.items():
        facts = base.get(name, {})
        if not isinstance(keys, dict) or not isinstance(facts, dict):
            raise UsageError(f"{where}, job '{name}': write keys and values below the name.")
        options, own = facts.get("options") or {}, keys.get("options") or {}
        both = {"options": {**options, **own}} if isinstance(options, dict) and isinstance(own, dict) else {}
        merged[name] = {**facts, **keys, **both}
    return merged


def _job(path: Path, where: str, name: str, facts: Any) -> DesiredJob:
    check_name("job", name)
    if not isinstance(facts, dict):
        raise UsageError(f"{where}: write keys and values below the name, at least 'artifact'.")
    _only(facts, _KEYS, where)
    artifact = _text(facts.get("artifact"), f"{where}: artifact", "the path of a .py, .zip, .whl or .sql file, or its URL")
    if "://" not in artifact:
        artifact = str(path.parent / Path(artifact).expanduser())
    args = facts.get("args", [])
    if not isinstance(args, list) or any(isinstance(arg, dict | list) or arg is None for arg in args):
        raise UsageError(f"{where}: args is a list of texts and numbers, such as [/data/cars, 5].")
    options = facts.get("options") or {}
    if not isinstance(options, dict):
        raise UsageError(f"{where}: options are names and values, such as partitions: 4.")
    _only(options, _OPTIONS, f"{where}: options")
    for option, value in options.items():
        if value is None:
            raise UsageError(f"{where}: option {option} has no value: write its default to take it out of the job.")
        if isinstance(value, date):
            raise UsageError(f"{where}: option {option} is a date: write it in quotes.")
    state = facts.get("state", STATES[0])
    if state not in STATES:
        raise UsageError(f"{where}: state is {' or '.join(STATES)}, not {state!r}.")
    entry, snapshot = facts.get("entry"), facts.get("initial_snapshot")
    return DesiredJob(
        name=name,
        artifact=artifact,
        entry=None if entry is None else _text(entry, f"{where}: entry", "module:function"),
        args=tuple(_argument(arg) for arg in args),
        options=options,
        initial_snapshot=None if snapshot is None else _text(snapshot, f"{where}: initial_snapshot", "the name of a snapshot"),
        suspended=state == STATES[1],
    )


def _only(mapping: dict[Any, Any], keys: Collection[str], where: str) -> None:
    for key in mapping:
        if key not in keys:
            close = difflib.get_close_matches(str(key), keys, 1)
            advice = f" Is '{close[0]}' meant?" if close else f" There are: {', '.join(sorted(keys))}."
            raise UsageError(f"{where}: there is no key '{key}'.{advice}")


def _text(value: Any, where: str, form: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where} is {form}, not {value!r}.")
    return value


def _argument(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
