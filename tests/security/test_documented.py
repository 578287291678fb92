"""docs/security.md names for each promise the tests that hold it; they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text()
_NAMED = re.compile(r"(?:[\w./-]+/)?(?:test_\w+\.py|\w+\.test\.ts)(?:::(test_\w+))?|tests/\w+(?:/\w+)*(?![\w./])")


def named(cell):
    """The files and folders that a cell names; one without a folder is beside the one before it. With each, a test in it."""
    folder, found = None, []
    for match in _NAMED.finditer(cell):
        path = match[0].partition("::")[0]
        if "/" not in path:
            assert folder is not None, cell
            path = f"{folder}/{path}"
        folder = path.rpartition("/")[0]
        found.append((path, match[1]))
    return found


def rows():
    """(what stands first, the last cell) of each line of a table that is no head."""
    lines = [line for line in TEXT.splitlines() if line.startswith("| ") and "tests/" in line]
    return [(line.strip("| ").split(" | ")[0], line.rstrip("| ").rpartition(" | ")[2]) for line in lines]


def test_each_row_names_tests_and_all_of_them_exist():
    found = rows()
    assert len(found) > 50
    missing = []
    for promise, cell in found:
        tests = named(cell)
        assert tests, f"no test holds: {promise}"
        for path, function in tests:
            file = ROOT / path
            if not file.exists() or (function is not None and f"def {function}(" not in file.read_text()):
                missing.append((promise[:60], path, function))
    assert missing == []


def test_tests_that_are_named_outside_of_tables_exist_too():
    paragraphs = [" ".join(text.split()) for text in TEXT.split("\n\n") if not text.startswith("|")]
    places = [place for text in paragraphs for place in re.findall(r"Tests: ((?:[^.]|\.(?! |$))+)", text)]
    assert len(places) > 2
    assert [path for place in places for path, _ in named(place) if not (ROOT / path).exists()] == []


def test_each_test_of_the_suite_is_named_by_a_promise():
    told = {function for _, cell in rows() for _, function in named(cell)}
    own = {
        name
        for file in Path(__file__).parent.glob("test_*.py")
        if file != Path(__file__)
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }
    assert own - told == set()
