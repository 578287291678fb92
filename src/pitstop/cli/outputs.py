"""The forms of results on standard output: tables for people, data for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import typer

from pitstop.errors import UsageError


class Form(StrEnum):
    """The word behind ``-o``."""

    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"
    JSONPATH = "jsonpath"


CHOICES = tuple(form.value for form in Form if form is not Form.JSONPATH)
METAVAR = f"<{'|'.join(CHOICES)}|jsonpath=EXPRESSION>"
_NAMES = ("name", "id", "key", "logger", "number")
"""The fields that name a thing, the best first."""


@dataclass(frozen=True)
class Output:
    """A form of results, and for ``jsonpath`` its expression."""

    form: Form = Form.TABLE
    path: str = ""

    @classmethod
    def of(cls, text: str) -> Output:
        """Return the form that ``-o`` names. typer.BadParameter if there is no such form."""
        word, equals, path = text.partition("=")
        if word == Form.JSONPATH and path:
            return cls(Form.JSONPATH, _checked(path))
        if equals or word not in CHOICES:
            choices = ", ".join(f"'{choice}'" for choice in CHOICES)
            raise typer.BadParameter(f"{text!r} is not one of {choices}, 'jsonpath=EXPRESSION' such as jsonpath='$[*].id'.")
        return cls(Form(word))

    @property
    def structured(self) -> bool:
        """True if standard output carries data for programs, and nothing else."""
        return self.form not in (Form.TABLE, Form.WIDE)

    def document(self, data: Any) -> str:
        """Return data as one document, without its last end of line."""
        if self.form is Form.YAML:
            return _yaml(data).rstrip("\n")
        return self._lines(data) if self.form in (Form.NAME, Form.JSONPATH) else json.dumps(data, indent=2, ensure_ascii=False)

    def line(self, data: Any) -> str:
        """Return data as one of several documents that follow one another, each on a line of its own in JSON."""
        if self.form is Form.YAML:
            return _yaml(data, explicit_start=True).rstrip("\n")
        return self._lines(data) if self.form in (Form.NAME, Form.JSONPATH) else json.dumps(data, ensure_ascii=False)

    def _lines(self, data: Any) -> str:
        values = map(_name, data if isinstance(data, list) else [data]) if self.form is Form.NAME else _at(self.path, data)
        return "\n".join(values)


TABLE = Output()


def complete_output() -> list[str]:
    """Return the words that may follow ``-o``."""
    return [*CHOICES, "jsonpath="]


def _yaml(data: Any, **options: Any) -> str:
    import yaml

    document: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, **options)
    return document


def _name(thing: Any) -> str:
    facts = thing if isinstance(thing, dict) else {}
    name = next((facts[field] for field in _NAMES if facts.get(field) is not None), None)
    if name is None:
        raise UsageError("The result of this command has no names: choose another form than -o name.")
    return str(name)


def _checked(path: str) -> str:
    """Return an expression in the form of RFC 9535: kubectl's ``{.a.b}`` and the ``$`` that may be left out are understood."""
    import jsonpath

    inner = path[1:-1].strip() if path.startswith("{") and path.endswith("}") else path.strip()
    whole = inner if inner.startswith("$") else f"${inner}" if inner.startswith((".", "[")) else f"$.{inner}"
    try:
        jsonpath.compile(whole)
    except jsonpath.JSONPathError as error:
        raise typer.BadParameter(f"{path!r} is no JSONPath ({error}): write one as RFC 9535 has it, such as '$[*].id'.") from None
    return whole


def _at(path: str, data: Any) -> Iterable[str]:
    import jsonpath

    for value in jsonpath.findall(path, data):
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
