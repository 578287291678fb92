"""What Spark does not promise is touched in pitstop.spark.internals alone."""

import ast
from pathlib import Path

import pytest

import pitstop

SOURCE = Path(pitstop.__file__).parent
INTERNALS = SOURCE / "spark" / "internals"
DAEMONS = tuple(SOURCE / "launchers" / f"spark_{part}.py" for part in ("standalone", "executor"))
"""They start master, worker and executor by the names that Spark's own scripts have for them, and load nothing of Spark."""
COORDINATES = tuple(SOURCE / "pipeline" / name for name in ("needs.py", "s3_jars.py"))
"""They name groups of Maven, from which jars are fetched, and no classes."""
PUBLIC_MODULES = {
    "pyspark",
    "pyspark.errors",
    "pyspark.sql",
    "pyspark.sql.datasource",
    "pyspark.sql.functions",
    "pyspark.sql.streaming.listener",
    "pyspark.sql.streaming.query",
    "pyspark.sql.streaming.state",
    "pyspark.sql.types",
}
JAVA_OBJECTS = {"_jvm", "_jdf", "_jsq", "_jsc", "_jsparkSession", "_jc", "_jrdd", "_sc", "_gateway", "_ssql_ctx"}


def private_uses(code):
    """What a module's code touches of Spark that is not public: "line: what" of each."""
    tree = ast.parse(code)
    with_spark = any(module.partition(".")[0] == "pyspark" for node in ast.walk(tree) for module in imported(node))
    return [f"{node.lineno}: {found}" for node in ast.walk(tree) for found in uses(node, with_spark)]


def imported(node):
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def uses(node, with_spark):
    for module in imported(node):
        if module.partition(".")[0] in ("pyspark", "py4j") and module not in PUBLIC_MODULES:
            yield f"module {module}"
        if module in PUBLIC_MODULES and isinstance(node, ast.ImportFrom):
            yield from (f"{module}.{alias.name}" for alias in node.names if alias.name.startswith("_"))
    if isinstance(node, ast.Attribute) and (node.attr in JAVA_OBJECTS or (with_spark and of_another(node))):
        yield f"attribute {node.attr}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and ("org.apache." in node.value or "scala." in node.value):
        yield f"class name {node.value!r}"


def of_another(node):
    """A private attribute of anything but the object itself, its class, or a module of Python's own."""
    private = node.attr.startswith("_") and not node.attr.startswith("__")
    return private and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os"))


def test_no_module_but_the_internals_touches_what_spark_does_not_promise():
    files = [path for path in SOURCE.rglob("*.py") if INTERNALS not in path.parents]
    assert len(files) > 150
    found = [
        f"{path.relative_to(SOURCE)}:{use}"
        for path in files
        if path not in (*DAEMONS, *COORDINATES)
        for use in private_uses(path.read_text())
    ]
    assert not found, "move it into pitstop.spark.internals:\n" + "\n".join(found)


def test_the_internals_do_touch_it():
    assert any(private_uses(path.read_text()) for path in INTERNALS.glob("*.py"))


@pytest.mark.parametrize(
    ("code", "use"),
    [
        ("def f(frame):\n    return frame._jdf", "2: attribute _jdf"),
        ("class C:\n    def f(self):\n        return self._sc", "3: attribute _sc"),
        ("from pyspark.sql import DataFrame\nx = DataFrame.frame._schema", "2: attribute _schema"),
        ("STORE = 'org.apache.spark.Store'", "1: class name 'org.apache.spark.Store'"),
        ("from py4j.java_gateway import JavaObject", "1: module py4j.java_gateway"),
        ("import pyspark.java_gateway", "1: module pyspark.java_gateway"),
        ("from pyspark.sql.types import _parse_datatype_string", "1: pyspark.sql.types._parse_datatype_string"),
    ],
)
def test_each_kind_of_private_name_is_seen(code, use):
    assert private_uses(code) == [use]


@pytest.mark.parametrize("code", ["class C:\n    def f(self):\n        return self._jobs", "import os\nos._exit(1)"])
def test_names_that_are_not_sparks_are_left_alone(code):
    assert private_uses(code) == []
