"""Settings of a server or member from a TOML file: the options of the command, by their names."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from pitstop.errors import UsageError


def take_settings(context: typer.Context, file: Path | None) -> Path | None:
    """Let the file's part for this command stand in for options that are not given. UsageError for what it cannot hold."""
    if file is not None and not context.resilient_parsing:
        context.default_map = settings_of(file, context.info_name or "", _names(context.command.params))
    return file


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="PITSTOP_CONFIG",
        show_envvar=False,
        is_eager=True,
        callback=take_settings,
        help="TOML file with these options; an option of the command line goes before it (docs/cli.md) [$PITSTOP_CONFIG]",
    ),
]


PARTS = ("serve", "member")
"""The tables of a settings file, by the names of commands."""


def settings_of(file: Path, part: str, names: dict[str, str]) -> dict[str, Any]:
    """Return the settings in a part of a file, by the parameters of its command. ``names``: option -> parameter."""
    try:
        content = tomllib.loads(file.read_text())
    except OSError as error:
        raise UsageError(f"The settings file {file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The settings file {file} is no TOML: {error}.") from None
    for table in content:
        if table not in PARTS:
            raise UsageError(f"{file}: there is no table '{table}'. Write options below [serve] or [member].")
    settings = content.get(part, {})
    if not isinstance(settings, dict):
        raise UsageError(f"{file}: '{part}' is no table: write [{part}], and below it options such as port = 8701.")
    for key in settings:
        if key not in names:
            close = difflib.get_close_matches(key, names, 1)
            advice = f"Is '{close[0]}' meant?" if close else f"'pitstop help {part}' lists them."
            raise UsageError(f"{file}, [{part}]: there is no option '{key}'. {advice}")
    return {names[key]: value for key, value in settings.items()}


def _names(parameters: list[Any]) -> dict[str, str]:
    own = [each for each in parameters if not each.hidden and each.name not in ("config", "help")]
    return {option.lstrip("-"): each.name for each in own for option in each.opts if option.startswith("--")}
