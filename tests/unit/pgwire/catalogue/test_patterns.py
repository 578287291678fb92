"""Regular expressions and LIKE of clients, against Python's own, and in bounded time."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.pgwire.catalogue.patterns import PatternError, like, matches

LETTERS = st.text("abc", max_size=8)
PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "[a-b]", "", "^", "$", r"\w", "[[:digit:]]"]),
    lambda inner: st.one_of(
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{1,}", "*?", ""])),
        st.builds("{}|{}".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    ),
    max_leaves=6,
)


@given(PATTERNS, LETTERS)
def test_it_matches_as_python_does(pattern, text):

    assert matches(pattern, text) == (re.search(python(pattern), text, re.DOTALL) is not None)


def python(pattern):
    """As Python writes it; its $ is also before a line's end."""
    return pattern.replace("[[:digit:]]", "[0-9]").replace("$", r"\Z")


@given(st.text("ab%_\\", max_size=8), st.text("ab%_\\", max_size=8))
def test_like_is_as_a_pattern_of_letters(pattern, text):
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    meant = "".join({"%": ".*", "_": "."}.get(part, re.escape(part[-1])) for part in parts)
    assert like(pattern, text) == (re.fullmatch(meant, text, re.DOTALL) is not None)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)b", "(a?){40}a{40}b", "(((a*)*)*)*b"])
def test_no_pattern_keeps_it_busy(pattern):
    began = time.monotonic()
    assert not matches(pattern, "a" * 1000)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[a",
        "a{2",
        "a{x}",
        "a{3,2}",
        "*",
        "(?=a)",
        "\\",
        "\\y",
        "[[:no:]]",
        "a{999}",
        "((((a{9}){9}){9}){9})",
        "a" * 257,
        "(" * 40,
    ],
)
def test_what_is_no_pattern_or_too_large_is_refused(pattern):
    with pytest.raises(PatternError):
        matches(pattern, "a")


def test_case_is_ignored_where_that_is_asked():
    assert matches("^CARS$", "cars", ignore_case=True)
    assert not matches("^CARS$", "cars")


def test_long_texts_are_refused():
    for refused in (lambda: matches("a", "b" * 5000), lambda: like("a", "b" * 5000)):
        with pytest.raises(PatternError):
            refused()
