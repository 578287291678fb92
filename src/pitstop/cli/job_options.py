"""Job options on the command line: -O, and the options that stand for one of them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from pitstop.cli.register import ALLOW_DROP
from pitstop.errors import UsageError
from pitstop.model.config import OPTIONS
from pitstop.model.option_values import places_to_seek, renamed_stages, stages_to_drop

Renamed = Annotated[
    list[str] | None,
    typer.Option("--renamed", metavar="NEW=OLD", help="The new name of a stage and its old one, whose state goes on; repeatable"),
]

AllowDrop = Annotated[
    list[str] | None,
    typer.Option(
        ALLOW_DROP,
        metavar="[=NAME,...]",
        help="Allow this request to drop saved state and positions of these stages and sources; without names, of all",
    ),
]

Seek = Annotated[
    list[str] | None,
    typer.Option(
        "--seek",
        metavar="SOURCE=PLACE",
        help="Let a source go on from there, and not from its saved place, which --allow-drop must allow; repeatable",
    ),
]

Shared = Annotated[
    bool, typer.Option("--allow-shared", help="The job may write into folders and maps that another active job writes into")
]


def complete_option(incomplete: str) -> list[tuple[str, str]]:
    """Return the words that may follow ``-O``, each with its help: names of options, then the values that can be listed."""
    words = [(f"{option.name}=", option.sentence) for option in OPTIONS]
    words += [(f"{option.name}={value}", option.meaning) for option in OPTIONS for value in option.choices]
    named = "=" in incomplete
    return [(word, help) for word, help in words if word.startswith(incomplete) and word.endswith("=") is not named]


Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="KEY=VALUE",
        help=f"Job option, overrides the job's code; repeatable. Options: {', '.join(option.name for option in OPTIONS)}",
        autocompletion=complete_option,
    ),
]


def renamed_option(pairs: list[str] | None) -> dict[str, Any]:
    """Return ``new=old`` pairs as a job option."""
    return {"renamed": renamed_stages(",".join(pairs))} if pairs else {}


def drop_option(names: list[str] | None) -> dict[str, Any]:
    """Return the stages and sources that may be dropped, as a job option."""
    return {"allow_drop": list(stages_to_drop(",".join(names)))} if names else {}


def seek_option(pairs: list[str] | None) -> dict[str, Any]:
    """Return the places from which sources go on, as a job option."""
    places: dict[str, str] = {}
    for pair in pairs or ():
        for source, place in places_to_seek("seek", pair).items():
            if source in places:
                raise UsageError(f"Source '{source}' is put to two places: give --seek {source}=PLACE once.")
            places[source] = place
    return {"seek": places} if places else {}


def shared_option(shared: bool) -> dict[str, Any]:
    """Return the leave to write where another job writes, as a job option."""
    return {"allow_shared": True} if shared else {}


def job_options(pairs: list[str], form: str = "-O takes key=value") -> dict[str, Any]:
    """Return ``key=value`` pairs as options; ``spark.x.y=z`` is a Spark setting, and ``spark={...}`` several of them as JSON.

    ``form`` names, in the error about a pair of another form, the option or command that takes the pairs.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{form}, not '{pair}'.")
        target = options.setdefault("spark", {}) if key.startswith("spark.") else options
        if key in target:
            raise UsageError(f"Option '{key}' specified more than once")
        target[key] = _spark_settings(value) if key == "spark" else value
    return options


def _spark_settings(text: str) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise UsageError(f"-O spark takes settings as a JSON object, not '{text}'; or write -O spark.some.setting=value.")
    return settings
