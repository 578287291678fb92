"""Secrets by name: references that stand in values, and their values, which a run looks up when it needs them.

``secret:NAME`` is a reference if it is the whole value. Within a longer text it is written ``${secret:NAME}``, and
``$${secret:NAME}`` stands for those characters themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pitstop.errors import PitstopError, UsageError

FOLDER = "PITSTOP_SECRETS"
"""The variable that names a folder with a file for each secret."""
VARIABLE = "PITSTOP_SECRET_"
"""The beginning of the names of variables that hold secrets."""
SHORTEST_HIDDEN = 4
"""The fewest characters of a value that is removed from texts: shorter ones are parts of many words."""
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}"
_WHOLE = re.compile(f"secret:({_NAME})")
_WITHIN = re.compile(rf"(\$?)\$\{{secret:({_NAME})\}}")
_MOST_BYTES = 1 << 20

_values: dict[str, str] = {}
"""The values that this process has looked up, in each form in which they were used -> name."""

_OWN = __name__.partition(".")[0]


def is_reference(text: str) -> bool:
    """Return True for ``secret:NAME`` alone."""
    return _WHOLE.fullmatch(text) is not None


def names_in(value: Any) -> Iterator[str]:
    """Yield the names of the secrets that a value refers to, in parts of collections, mappings and our own dataclasses, too."""
    if isinstance(value, str):
        whole = _WHOLE.fullmatch(value)
        if whole is not None:
            yield whole[1]
        yield from (match[2] for match in _WITHIN.finditer(value) if not match[1])
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from names_in(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from names_in(part)
    elif is_dataclass(value) and type(value).__module__.partition(".")[0] == _OWN:  # not a user's, which may refer to itself
        for part in fields(value):
            yield from names_in(getattr(value, part.name))


def revealed(text: str) -> str:
    """Return a text with the values of its secrets in place of their names. UsageError if one is missing."""
    return _revealed(text, lambda value: value)


def revealed_url(url: str) -> str:
    """Return a URL with the values of its secrets, in which characters that mean something in a URL are encoded.

    A reference that is the whole text stands for a whole URL, which stays as it is.
    """
    whole = _revealed(url, lambda value: quote(value, safe=""))
    reference = _WHOLE.fullmatch(url)
    if reference is not None:
        with suppress(ValueError):  # no URL at all
            password = urlsplit(whole).password or ""
            for form in filter(None, (password, unquote(password))):
                noted(form, reference[1])
    return whole


def secret(name: str) -> str:
    """Return the value of a secret: of its file in the folder of secrets, else of its variable. UsageError if it has neither."""
    folder = os.environ.get(FOLDER)
    value = _in_file(Path(folder), name) if folder else None
    if value is None:
        value = os.environ.get(VARIABLE + name)
    if value is None:
        place = f"the folder {folder} has no file {name}, and " if folder else ""
        remedy = "" if folder else ". A folder of secrets is given by pitstop serve --secrets"
        raise UsageError(f"secret '{name}' is missing: {place}there is no variable {VARIABLE}{name}{remedy}.")
    _values[value] = name
    return value


def noted(value: str, name: str) -> str:
    """Return another form of a secret's value, in which it is used, too, so that it is removed from texts."""
    _values[value] = name
    return value


def hidden(text: str) -> str:
    """Return a text in which names stand for the values of secrets that this process has looked up."""
    for value in sorted(_values, key=len, reverse=True):
        if len(value) >= SHORTEST_HIDDEN and value in text:
            text = text.replace(value, f"secret:{_values[value]}")
    return text


def hidden_in(value: Any) -> Any:
    """Return a value of JSON with its texts as :func:`hidden` gives them."""
    if not _values:
        return value
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, Mapping):
        return {key: hidden_in(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [hidden_in(part) for part in value]
    return value


@contextmanager
def errors_without_secrets() -> Iterator[None]:
    """Remove the values of secrets from the text of an error, and of those that have caused it, on its way out."""
    try:
        yield
    except Exception as error:
        if _values:
            _cleanse(error)
        raise


def _cleanse(error: BaseException | None) -> None:
    passed: set[int] = set()
    while error is not None and id(error) not in passed:
        passed.add(id(error))
        error.args = tuple(hidden(part) if isinstance(part, str) else part for part in error.args)
        if isinstance(error, PitstopError):
            error.message = hidden(error.message)
            error.details = hidden_in(error.details)
        error = error.__cause__ or error.__context__


def _revealed(text: str, encoded: Callable[[str], str]) -> str:
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return secret(whole[1])
    return _WITHIN.sub(lambda match: match[0][1:] if match[1] else noted(encoded(secret(match[2])), match[2]), text)


def _in_file(folder: Path, name: str) -> str | None:
    """Return the content of a secret's file, without the newline that editors put at its end; None if there is no file."""
    path = folder / name
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"secret '{name}' cannot be read: {path}: {error.strerror}.") from None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UsageError(f"secret '{name}' is not text: {path} is not UTF-8.") from None
    if len(content) > _MOST_BYTES:
        raise UsageError(f"secret '{name}' is larger than 1 MiB: {path}.")
    return text.removesuffix("\n").removesuffix("\r")
