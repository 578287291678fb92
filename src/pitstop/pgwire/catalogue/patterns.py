"""Regular expressions and LIKE of clients. The time of a match grows with pattern times text, for any pattern.

Python's own ``re`` tries one way after the other: a pattern of twenty letters can keep it busy for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

MOST_LETTERS = 256
"""The most letters of a pattern. Names are shorter."""
MOST_STEPS = 500
"""The most steps of a compiled pattern."""
MOST_TEXT = 2000
"""The most letters of a text that is matched."""

Test = Callable[[str], bool]
_CLASSES: dict[str, Test] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "space": str.isspace,
    "upper": str.isupper,
    "lower": str.islower,
}
_ESCAPES: dict[str, Test] = {
    "d": str.isdigit,
    "D": lambda letter: not letter.isdigit(),
    "s": str.isspace,
    "S": lambda letter: not letter.isspace(),
    "w": lambda letter: letter.isalnum() or letter == "_",
    "W": lambda letter: not (letter.isalnum() or letter == "_"),
}
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}


class PatternError(ValueError):
    """A pattern that is not supported."""


def matches(pattern: str, text: str, ignore_case: bool = False) -> bool:
    """True if a regular expression of PostgreSQL matches somewhere in a text. PatternError if it is invalid or too long."""
    if ignore_case:
        pattern, text = pattern.lower(), text.lower()
    if len(text) > MOST_TEXT:
        raise PatternError(f"A text that is matched has at most {MOST_TEXT:,} letters")
    steps = _compiled(pattern)
    current: set[int] = set()
    for at in range(len(text) + 1):
        _follow(steps, 0, current, at == 0, at == len(text))
        if len(steps) in current:
            return True
        if at == len(text):
            return False
        following: set[int] = set()
        for number in current:
            test = steps[number]
            if callable(test) and test(text[at]):
                _follow(steps, number + 1, following, False, at + 1 == len(text))
        current = following
    return False


def like(pattern: str, text: str, escape: str = "\\") -> bool:
    """True if a text is LIKE a pattern, as in PostgreSQL."""
    parts: list[str | None] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == escape and escape and at + 1 < len(pattern):
            at += 1
            parts.append("=" + pattern[at])
        elif letter == "%":
            parts.append(None)
        else:
            parts.append("_" if letter == "_" else "=" + letter)
        at += 1
    if len(parts) > MOST_TEXT or len(text) > MOST_TEXT:
        raise PatternError(f"A text that is matched has at most {MOST_TEXT:,} letters")
    place = here = 0
    star = mark = -1
    while here < len(text):
        part = parts[place] if place < len(parts) else ""
        if part is None:
            star, mark = place, here
            place += 1
        elif part and (part == "_" or part[1] == text[here]):
            place, here = place + 1, here + 1
        elif star >= 0:
            mark += 1
            place, here = star + 1, mark
        else:
            return False
    return all(part is None for part in parts[place:])


_Step = Test | str | tuple[int, int]
"""A step: a test of one letter, an anchor, or a fork to two places, counted from this one."""


def _follow(steps: list[_Step], start: int, into: set[int], first: bool, last: bool) -> None:
    pending = [start]
    while pending:
        number = pending.pop()
        if number in into:
            continue
        into.add(number)
        step = steps[number] if number < len(steps) else None
        if isinstance(step, tuple):
            pending += [number + step[0], number + step[1]]
        elif (step == "^" and first) or (step == "$" and last):
            pending.append(number + 1)


@functools.lru_cache(256)
def _compiled(pattern: str) -> list[_Step]:
    if len(pattern) > MOST_LETTERS:
        raise PatternError(f"A pattern has at most {MOST_LETTERS} letters")
    reader = _Reader(pattern)
    steps = reader.choice(0)
    if reader.at < len(pattern):
        raise PatternError(f"parentheses () not balanced in the pattern {pattern!r}")
    return steps


class _Reader:
    """Reads a pattern into steps. The places in a part are relative, so that a part can stand anywhere."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def choice(self, depth: int) -> list[_Step]:
        if depth > 20:
            raise PatternError("The pattern is nested too deeply")
        steps = self._sequence(depth)
        if self._next() == "|":
            self.at += 1
            other = self.choice(depth + 1)
            steps = [(1, len(steps) + 2), *steps, (len(other) + 1, len(other) + 1), *other]
        return self._bounded(steps)

    def _sequence(self, depth: int) -> list[_Step]:
        steps: list[_Step] = []
        while self._next() not in ("", "|", ")"):
            steps = self._bounded(steps + self._repeated(self._atom(depth)))
        return steps

    def _repeated(self, part: list[_Step]) -> list[_Step]:
        while (sign := self._next()) and sign in "*+?{":
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign) or self._bounds()
            if self._next() == "?":
                self.at += 1  # greedy or not, the same texts match
            if len(part) * max(least, most or 1) > MOST_STEPS:
                raise PatternError("The pattern is too large")
            steps = part * least
            if most is None:
                steps = [*steps, (1, len(part) + 2), *part, (-len(part) - 1, -len(part) - 1)]
            for _ in range((most or least) - least):
                steps = [*steps, (1, len(part) + 1), *part]
            part = self._bounded(steps)
        return part

    def _bounds(self) -> tuple[int, int | None]:
        text, bracket, rest = self._pattern[self.at :].partition("}")
        least, comma, most = text.partition(",")
        if not bracket or not all(each.isascii() and each.isdigit() and len(each) < 4 for each in (least, most or "0")):
            raise PatternError("invalid repetition count(s) in the pattern")
        self.at = len(self._pattern) - len(rest)
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise PatternError("invalid repetition count(s) in the pattern")
        return int(least), int(most) if most else None

    def _atom(self, depth: int) -> list[_Step]:
        letter = self._next()
        self.at += 1
        match letter:
            case "(":
                if self._pattern.startswith("?", self.at):
                    if not self._pattern.startswith("?:", self.at):
                        raise PatternError("Patterns that look ahead or behind are not supported")
                    self.at += 2
                steps = self.choice(depth + 1)
                if self._next() != ")":
                    raise PatternError("parentheses () not balanced in the pattern")
                self.at += 1
                return steps
            case "[":
                return [self._bracket()]
            case ".":
                return [lambda each: True]
            case "^" | "$":
                return [letter]
            case "\\":
                return [self._escaped()]
            case "*" | "+" | "?":
                raise PatternError("quantifier operand invalid in the pattern")
        return [lambda each: each == letter]

    def _escaped(self) -> Test:
        letter = self._next()
        self.at += 1
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if not letter or (letter.isalnum() and letter not in _LETTERS):
            raise PatternError("invalid escape \\ sequence in the pattern")
        character = _LETTERS.get(letter, letter)
        return lambda each: each == character

    def _bracket(self) -> Test:
        tests: list[Test] = []
        negated = self._next() == "^"
        self.at += negated
        first = True
        while (letter := self._next()) != "]" or first:
            first = False
            if not letter:
                raise PatternError("brackets [] not balanced in the pattern")
            if self._pattern.startswith("[:", self.at):
                name, end, _ = self._pattern[self.at + 2 :].partition(":]")
                if not end or name not in _CLASSES:
                    raise PatternError("invalid character class in the pattern")
                tests.append(_CLASSES[name])
                self.at += len(name) + 4
                continue
            self.at += 1
            if letter == "\\":
                tests.append(self._escaped())
            elif self._next() == "-" and self._pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                tests.append(functools.partial(_between, letter, self._pattern[self.at + 1]))
                self.at += 2
            else:
                tests.append(functools.partial(str.__eq__, letter))
        self.at += 1
        return lambda each: any(test(each) for test in tests) != negated

    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]

    @staticmethod
    def _bounded(steps: list[_Step]) -> list[_Step]:
        if len(steps) > MOST_STEPS:
            raise PatternError("The pattern is too large")
        return steps


def _between(first: str, last: str, letter: str) -> bool:
    return first <= letter <= last
