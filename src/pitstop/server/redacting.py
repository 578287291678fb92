"""Texts and values without secrets, for files that leave the machine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pitstop.kit.secret_words import HIDDEN, is_secret, secrets_in_urls, without_secrets
from pitstop.machine.named_secrets import FOLDER, SHORTEST_HIDDEN, VARIABLE, is_reference
from pitstop.model.data_folder import DataFolder

_SHORTEST_OTHER = 6
"""The fewest characters of a value that is removed everywhere because of its name: shorter ones are parts of many words."""
_PAIR = re.compile(r"""(?<![\w.-])([\w.-]+)(["']?\s*[=:]\s*["']?(?:(?:Bearer|Basic)\s+)?)([^\s"',;&)}\]]+)""")
"""A name and its value in a text: ``password=abc``, ``'password' = 'abc'``, ``token: abc``."""
_ROW = re.compile(r"(fails for the row ).*?(?=\. Mend its function)", re.DOTALL)
"""The row that an error quotes."""


_COMMON = frozenset({"true", "false", "none", "null", HIDDEN})


def secrets_at(data: DataFolder, folder: Path | None) -> Iterator[str]:
    """Yield the secrets of a server: of its data folder, of the folder of secrets that jobs name, and of its variables."""
    for path in (data.token, data.session_key):
        yield from filter(None, [_content(path).strip()])
    # As libpq has it: host, port, database, user, password, each with its colons escaped.
    for line in _content(data.store_password).splitlines():
        yield re.split(r"(?<!\\):", line)[-1].replace("\\:", ":").replace("\\\\", "\\")
    with suppress(ValueError):
        yield from _marked(json.loads(_content(data.spark_cluster)))
    folder = folder or (Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None)
    if folder is not None and folder.is_dir():
        for path in folder.iterdir():
            content = _content(path)
            yield from filter(None, (content, content.strip(), *map(str.strip, content.splitlines())))
    for name, value in os.environ.items():
        if name.startswith(VARIABLE):
            yield value


def _content(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""


class Redactor:
    """Removes secrets: those it is told, and the values that a name or a URL marks as secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        for secret in secrets:
            self._learn(secret, SHORTEST_HIDDEN)

    def learn(self, value: Any) -> None:
        """Note the secrets within a value of JSON, so that they go from everything."""
        for text in _marked(value):
            if text.lower() not in _COMMON and not text.isdecimal() and not is_reference(text):
                self._learn(text, _SHORTEST_OTHER)

    def value(self, value: Any) -> Any:
        """Return a value of JSON without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self._of_name(str(key), part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(part) for part in _hiding_next(value)]
        return value

    def text(self, text: str) -> str:
        """Return a text without secrets, and without rows that errors quote."""
        for secret in sorted(self._values, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        text = _ROW.sub(rf"\1{HIDDEN}", without_secrets(text))
        return _PAIR.sub(_pair_hidden, text)

    def _of_name(self, name: str, value: Any) -> Any:
        # A number is no password: the token of a run is one.
        return HIDDEN if isinstance(value, str) and value and _hides(name, value) else self.value(value)

    def _learn(self, secret: str, shortest: int) -> None:
        self._values |= {form for form in (secret, quote(secret, safe="")) if len(form) >= shortest}


def _hides(name: str, value: str) -> bool:
    return is_secret(name) and not is_reference(value)


def _marked(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON that a name or a URL marks as secret."""
    if isinstance(value, str):
        yield from secrets_in_urls(value)
        yield from (match[3] for match in _PAIR.finditer(value) if _is_pair_of_secret(match))
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, str) and is_secret(str(name)):
                yield part
            yield from _marked(part)
    elif isinstance(value, (list, tuple)):
        for before, part in zip(("", *value), value, strict=False):
            if isinstance(part, str) and _introduces(before):
                yield part
            yield from _marked(part)


def _introduces(argument: Any) -> bool:
    """Return True for an option of a command line whose value, the next argument, is secret."""
    return isinstance(argument, str) and argument.startswith("-") and "=" not in argument and is_secret(argument)


def _hiding_next(values: Any) -> list[Any]:
    return [
        HIDDEN if isinstance(value, str) and _introduces(before) else value
        for before, value in zip(("", *values), values, strict=False)
    ]


def _is_pair_of_secret(match: re.Match[str]) -> bool:
    """Return True for a secret after its name. ``secret:NAME`` is a reference, and a number is no password."""
    name, between, value = match.groups()
    return _hides(name, value) and not (between == ":" and is_reference(f"{name}:{value}")) and not value.isdecimal()


def _pair_hidden(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}{HIDDEN}" if _is_pair_of_secret(match) else match[0]
