"""Pages of a job's log, however long its lines are."""

import pytest

from pitstop.service import reads
from pitstop.service.reads import whole_lines

PAGE = 10


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    monkeypatch.setattr(reads, "PAGE_BYTES", PAGE)


def all_lines(log, limit=2):
    """Every line, read page by page as the service does."""
    found, after = [], 0
    while True:
        lines, read = whole_lines(log[after : after + PAGE], limit)
        if not lines:
            return found, after
        found, after = found + lines, after + read


@pytest.mark.parametrize(
    ("log", "lines"),
    [
        (b"", []),
        (b"a\nb\nc\n", ["a", "b", "c"]),
        (b"a\nnot yet", ["a"]),
        (b"\n\nx\n", ["", "", "x"]),
        (b"123456789\nab\n", ["123456789", "ab"]),
        (b"\xff\xfe\n", ["\ufffd\ufffd"]),
    ],
)
def test_whole_lines_are_read(log, lines):
    assert all_lines(log)[0] == lines


def test_a_line_of_any_length_is_read_in_pieces():
    """One of 300 MB once took 1.5 GB of memory."""
    found, read = all_lines(b"x" * 35 + b"\nnext\n")
    assert "".join(found[:-1]) == "x" * 35
    assert (found[-1], read) == ("next", 41)
    assert all(len(piece) <= PAGE for piece in found)


@pytest.mark.parametrize("character", ["ä", "€", "😀"])
def test_no_character_is_cut(character):
    found, _ = all_lines((character * 20 + "\n").encode())
    assert "".join(found) == character * 20


def test_what_is_no_text_is_cut_anywhere():
    found, _ = all_lines(b"\x80" * 25 + b"\n")
    assert "".join(found) == "\ufffd" * 25
