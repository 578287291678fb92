"""What every command shares: the server, the output format, errors as one sentence."""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import yaml

from pitstop.errors import PitstopError
from pitstop.service.api import Service

EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


@dataclass
class Context:
    """The global options of one call."""

    url: str | None = None
    token: str | None = None
    verbose: bool = False
    output: str = "table"

    def service(self) -> Service:
        from pitstop.client.http import DEFAULT_URL, HttpService

        url = self.url or os.environ.get("PITSTOP_URL") or DEFAULT_URL
        return HttpService(url, self.token or os.environ.get("PITSTOP_TOKEN"))

    @property
    def structured(self) -> bool:
        return self.output in ("json", "yaml")

    def show(self, data: Any) -> None:
        """Structured output, and nothing else, on standard output."""
        if self.output == "yaml":
            print(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), end="")
        else:
            print(json.dumps(data, indent=2, ensure_ascii=False))


def say(text: str, context: Context) -> None:
    """A line for people: on standard output, or beside it when that carries data."""
    print(text, file=sys.stderr if context.structured else sys.stdout, flush=True)


def fail(error: BaseException, verbose: bool) -> int:
    """Tell what went wrong; the exit code. The stack trace only with -v."""
    message = error.message if isinstance(error, PitstopError) else f"{type(error).__name__}: {error}"
    print(f"ERROR: {message}", file=sys.stderr)
    if verbose:
        trace = error.details.get("trace") if isinstance(error, PitstopError) else None
        print(f"\n{trace or ''.join(traceback.format_exception(error))}", file=sys.stderr)
    else:
        print("\nTo see the full stack trace, re-run with the -v/--verbosity option", file=sys.stderr)
    return EXIT_ERROR
