"""``pitstop serve``: the control plane."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pitstop import server
from pitstop.cli.context import Call, given_token
from pitstop.main.process_options import CONFIG, ProcessOptions, command_of
from pitstop.main.values import SHARED
from pitstop.model.config import SHARED_ENGINE
from pitstop.model.option_values import engine_name
from pitstop.model.retention import Retention


def _token(file: Path | None, call: Call) -> str | None:
    return given_token(file or call.token_file, "PITSTOP_TOKEN")


def _viewer_token(file: Path | None, call: Call) -> str | None:
    return given_token(file, "PITSTOP_VIEWER_TOKEN")


def _metrics_token(file: Path | None, call: Call) -> str | None:
    return given_token(file, "PITSTOP_METRICS_TOKEN")


def _engine(name: str, call: Call) -> str:
    return engine_name("engine", name or os.environ.get("PITSTOP_ENGINE") or SHARED_ENGINE)


def _retention(settings: Iterable[str] | None, call: Call) -> Retention:
    """Return the bounds of these settings, over those of the environment."""
    usual = os.environ.get("PITSTOP_KEEP", "").split(",")
    return Retention.of((*filter(str.strip, usual), *(settings or ())))


READERS = SHARED | {
    "token": _token,
    "viewer_token": _viewer_token,
    "metrics_token": _metrics_token,
    "engine": _engine,
    "keep": _retention,
}


def _serve(settings: server.Settings) -> None:
    server.run_server(settings)


serve = command_of(
    "serve",
    "Start the control plane and serve until Ctrl-C. Jobs outlive it.",
    (ProcessOptions(server.Settings, READERS),),
    _serve,
    CONFIG,
)
