"""What is known of a kind of state stands in one record, and few places name a kind."""

import ast
import pkgutil
from functools import cache
from pathlib import Path

import pytest

import pitstop
from pitstop.model.layout import StageKind
from pitstop.pipeline.specs import Spec
from pitstop.plan import kinds
from pitstop.plan.kinds import KindRules, rules_of

SOURCE = Path(pitstop.__file__).parent
WITH_STATE = set(StageKind) - {spec.kind for spec in Spec.__subclasses__()}


def test_every_kind_of_stage_with_state_has_a_record_and_no_other_has():
    assert {module.name for module in pkgutil.iter_modules(kinds.__path__)} == {kind.value for kind in WITH_STATE}
    assert all(isinstance(rules_of(kind), KindRules) for kind in WITH_STATE)


def test_records_tell_kinds_apart_in_messages():
    assert len({rules_of(kind).words for kind in WITH_STATE}) == len(WITH_STATE) == 7


@cache
def nodes():
    """Module -> what its syntax tree has of attributes and of imports."""
    trees = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    of_use = (ast.Attribute, ast.ImportFrom)
    return {module: [node for node in ast.walk(tree) if isinstance(node, of_use)] for module, tree in trees.items()}


def modules_where(says):
    """Modules of which a node of the syntax tree is such."""
    return {module for module, found in nodes().items() if any(map(says, found))}


def names(kind):
    def says(node):
        return isinstance(node, ast.Attribute) and node.attr == kind.name and ast.unparse(node) == f"StageKind.{kind.name}"

    return says


def imports(spec):
    return lambda node: isinstance(node, ast.ImportFrom) and spec.__name__ in [alias.name for alias in node.names]


@pytest.mark.parametrize("kind", sorted(WITH_STATE))
def test_outside_its_record_only_what_lowers_a_kind_names_it(kind):
    named = modules_where(names(kind)) - {"testing/scripts.py"}  # scripts, whose plans have windows
    assert len(named) == 1
    assert named.pop().startswith("spark/lowering/")


@pytest.mark.parametrize("spec", [spec for spec in Spec.__subclasses__() if spec.stateful], ids=lambda spec: spec.__name__)
def test_a_spec_with_state_is_read_where_it_is_made_and_where_it_is_lowered(spec):
    layers = {path.rpartition("/")[0] for path in modules_where(imports(spec))}
    expected = {"pipeline", "spark/lowering"}
    if spec.__name__ == "WindowSpec":
        expected |= {"spark/running"}  # early results
    if spec.__name__ == "OwnCodeSpec":
        expected |= {"plan"}  # it may hold several operators in a row
    assert layers == expected
