"""Commands on kinds of sources and sinks: what there is, what it takes, and jars for machines that have no way out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.cli.tables import print_table
from pitstop.errors import UsageError
from pitstop.kit.counts import counted
from pitstop.machine.cache_folder import FOLDER_VARIABLE
from pitstop.machine.maven import fetch_jar, has_jar, jar_folder

if TYPE_CHECKING:
    from pitstop.pipeline.connectors import Kind, KindOption


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    register(app, connectors)
    register(app, fetch_jars)


def connectors(
    call: Call,
    kind: Annotated[
        str | None, typer.Argument(help="Kind of source or sink whose options to list [default: list all kinds]")
    ] = None,
) -> None:
    """List the kinds of sources and sinks, and whether this machine has what they need; of one kind its options."""
    from pitstop.pipeline.connectors import kinds, kinds_called

    if kind is None:
        everything = kinds()
        if call.structured:
            call.show([_facts(each) for each in everything])
        else:
            print_table(("KIND", "ROLE", "HERE", "WHAT IT DOES"), ((e.name, e.role, _here(e), e.summary) for e in everything))
        return
    matches = kinds_called(kind)
    if call.structured:
        call.show([_facts(each) | {"description": each.description, "options": _options(each)} for each in matches])
        return
    for number, each in enumerate(matches):
        if number:
            print()
        print(f"{each.role} {each.name}: {each.call} ({_here(each)})\n\n{each.description}")
        if each.options:
            print()
            rows = ((option.name, option.type, _default(option), option.meaning) for option in each.options)
            print_table(("OPTION", "TYPE", "DEFAULT", "MEANING"), rows)


def fetch_jars(
    call: Call,
    kind: Annotated[
        list[str] | None, typer.Argument(help="Kinds, or the scheme s3a, whose jars to fetch [default: all that have some]")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for the jars [default: the folder of the cache where jobs look for them]"),
    ] = None,
) -> None:
    """Fetch the jars of kinds ahead, checked by their SHA-256, for machines that later have no way out."""
    from pitstop.pipeline.connectors import kinds
    from pitstop.pipeline.needs import OF_SCHEMES

    with_jars = {each.name: each.needs.jars for each in kinds() if each.needs.jars}
    with_jars |= {scheme: needs.jars for scheme, needs in OF_SCHEMES.items()}
    for name in kind or ():
        if name not in with_jars:
            raise UsageError(
                f"The kind '{name}' needs no jars, or does not exist. Kinds with jars: {', '.join(sorted(with_jars))}."
            )
    folder = jar_folder() if to is None else _made(to)
    jars = [(name, jar) for name in sorted(kind or with_jars) for jar in with_jars[name]]
    facts: list[dict[str, Any]] = []
    for number, (name, jar) in enumerate(jars, 1):
        is_new = not has_jar(jar, folder)
        with call.waiting(f"Fetching {jar.file_name} ({number} of {len(jars)})"):
            try:
                file = fetch_jar(jar, folder)
            except OSError as error:
                raise UsageError(f"The jar {jar.file_name} cannot be kept in {folder}: {error.strerror}.") from error
        size = file.stat().st_size
        facts.append({"kind": name, "jar": str(file), "bytes": size, "sha256": jar.sha256, "fetched": is_new})
        call.say(f"{jar.file_name}: {'fetched' if is_new else 'is there already'} ({size:,} bytes, SHA-256 is right)")
    call.say(f"{folder} has {counted(len(jars), 'jar')} of {', '.join(sorted(set(kind or with_jars)))}.")
    if to is not None:
        call.say(
            f"Copy them into ~/.cache/pitstop/jars on each machine that runs jobs, or ${FOLDER_VARIABLE}/jars where that is set."
        )
    if call.structured:
        call.show(facts)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {folder} cannot be made: {error.strerror}.") from error
    return folder


def _here(kind: Kind) -> str:
    """Return in a few words whether this machine has what a kind needs."""
    if not kind.needs.has_package():
        return f"needs {kind.needs.install_line}"
    if kind.package != "pitstop":
        return f"package {kind.package}"
    if kind.needs.missing_jars():
        return f"jars come at first use, or by pitstop fetch-jars {kind.name}"
    return "ready"


def _facts(kind: Kind) -> dict[str, Any]:
    missing = kind.needs.missing_jars()
    return {
        "kind": kind.name,
        "role": kind.role.value,
        "call": kind.call,
        "package": kind.package,
        "summary": kind.summary,
        "ready": kind.needs.has_package() and not missing,
        "install": kind.needs.install_line,
        "jars": [{"jar": jar.file_name, "here": jar not in missing} for jar in kind.needs.jars],
    }


def _options(kind: Kind) -> list[dict[str, Any]]:
    return [
        {
            "name": option.name,
            "type": option.type,
            "required": option.required,
            "default": list(option.default) if isinstance(option.default, tuple) else option.default,
            "meaning": option.meaning,
        }
        for option in kind.options
    ]


def _default(option: KindOption) -> str:
    return "required" if option.required else "" if option.name.startswith("**") else repr(option.default)
