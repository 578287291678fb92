"""The libraries that read a text of a client have no code that evaluates it, or that code is not loaded."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

READERS = {
    *("uvicorn", "h11", "starlette", "fastapi", "python_multipart", "pydantic", "itsdangerous"),
    *("sqlglot", "lark", "packaging", "pg_mimic"),
}
"""HTTP and bodies; SQL; requirements; packets of PostgreSQL's clients."""
EVALUATING = {"eval", "exec", "compile", "__import__", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads"}
OF_ITS_OWN = {
    "lark.lark": "a grammar that the program itself has stored",
    "packaging._manylinux": "a module of that one name",
}
"""Loaded modules that evaluate, and the text: none of a client's."""
SERVER = """
import sys
import pitstop.main.app, pitstop.main.serve, pitstop.server.app, pitstop.server.http, pitstop.rest.app, pitstop.pgwire.server
import pitstop.service.requirements, pitstop.sql.parsing, pitstop.sql.rewriting, pitstop.spark.selecting.select
print(*sorted(name for name, module in sys.modules.items() if getattr(module, "__file__", None)))
"""


def evaluating(package):
    """The modules of a package with calls that evaluate a text, or an object of bytes."""
    spec = importlib.util.find_spec(package)
    (root,) = spec.submodule_search_locations
    for path in sorted(Path(root).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in EVALUATING:
                parts = path.relative_to(Path(root).parent).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def loaded():
    """The modules that a server, its door for PostgreSQL and its process of queries have loaded, from files."""
    command = [sys.executable, "-c", SERVER]
    return set(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.split())


@pytest.mark.parametrize("package", sorted(READERS))
def test_no_library_that_reads_a_clients_text_evaluates_it(loaded, package):
    assert package in loaded
    assert set(evaluating(package)) & loaded - OF_ITS_OWN.keys() == set()


def test_the_search_finds_what_is_there():
    """sqlglot can carry a query out in Python; that is how a client's text once became code."""
    assert "sqlglot.executor.context" in set(evaluating("sqlglot"))
    assert set(evaluating("lark")) == {"lark.lark"}
