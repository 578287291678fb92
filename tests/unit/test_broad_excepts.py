"""A handler of all errors raises one again, or says in a comment why it may take every error (CONTRIBUTING.md)."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "pitstop"
BROAD = {"Exception", "BaseException"}


def unexplained(text):
    """Yield the lines of handlers that take every error, raise none, and give no reason."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        is_broad = node.type is None or any(isinstance(name, ast.Name) and name.id in BROAD for name in ast.walk(node.type))
        raises = any(isinstance(part, ast.Raise) for statement in node.body for part in ast.walk(statement))
        head = lines[node.lineno - 1 : node.body[0].lineno]
        if is_broad and not raises and not any("#" in line for line in head):
            yield node.lineno


@pytest.mark.parametrize(
    ("handler", "count"),
    [
        ("except Exception:\n    pass", 1),
        ("except (OSError, BaseException) as error:\n    print(error)", 1),
        ("except:\n    print()", 1),
        ("except Exception:  # the user's code\n    pass", 0),
        ("except Exception:\n    # the user's code\n    pass", 0),
        ("except Exception as error:\n    raise ValueError from error", 0),
        ("except OSError:\n    pass", 0),
    ],
)
def test_the_rule_itself(handler, count):
    assert len(list(unexplained(f"try:\n    pass\n{handler}\n"))) == count


def test_every_handler_of_all_errors_raises_or_says_why_not():
    files = sorted(SRC.rglob("*.py"))
    assert len(files) > 100
    places = [f"{file.relative_to(SRC)}:{line}" for file in files for line in unexplained(file.read_text())]
    assert places == []
