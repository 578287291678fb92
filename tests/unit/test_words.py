"""The words of the code (CONTRIBUTING.md): places that break a rule become fewer, never more."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "pitstop"
PARTICIPLES = {
    *("asked", "done", "found", "given", "gone", "kept", "known", "left"),
    *("made", "said", "seen", "taken", "told", "wanted"),
}
QUESTIONS = ("How ", "The same", "Those ", "What ", "When ", "Where ", "Whether ", "Which ", "Who ", "Whose ", "Why ")


def participles(tree):
    """Yield the names of variables and parameters that are a bare participle."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else getattr(node, "arg", None)
        if isinstance(node, (ast.Name, ast.arg)) and name in PARTICIPLES:
            yield name


def questions(tree):
    """Yield the docstrings, of attributes too, that begin with a word that names nothing."""
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if isinstance(getattr(node, "body", None), list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str) and text.startswith(QUESTIONS):
                    yield text


@pytest.mark.parametrize(("breaks", "most"), [(participles, 47), (questions, 0)])
def test_the_places_that_break_a_rule_become_fewer(breaks, most):
    count = sum(1 for file in SRC.rglob("*.py") for _ in breaks(ast.parse(file.read_text())))
    assert count <= most, f"{count - most} more than before: see Words in CONTRIBUTING.md"
    assert count > most - 40, f"Well done: write {count} here, so that it does not rise again"
