"""The state variables of user-defined processors (transformWithState), as Spark's driver reads them before a query's first epoch.

A processor declares its variables in ``init``, which Spark calls once on the driver only to learn of them. We call it in the same
way, with a client that writes down what is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.serializers import CPickleSerializer
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasFuncMode
from pyspark.sql.types import DataType, StructType

_OF_PYTHON = "TransformWithStateIn"


@dataclass(frozen=True)
class Declared:
    """One variable, as ``init`` declares it."""

    name: str
    kind: str
    """``value``, ``list`` or ``map``."""
    value: StructType
    key: StructType | None
    """The schema of a map's keys; None for other kinds."""
    ttl_ms: int | None


class UndeclaredError(Exception):
    """The variables of a processor cannot be read; the text says why, as a clause."""


def is_processor(node: Any) -> bool:
    """True if a node of a plan calls a processor of the user's."""
    return str(node.nodeName()).startswith("TransformWithState")


def declared(node: Any) -> list[Declared]:
    """Return the variables that the processor of a node declares, in that order; UndeclaredError if they cannot be read."""
    if not str(node.nodeName()).startswith(_OF_PYTHON):
        raise UndeclaredError("its processor is written in Java or Scala")
    recorder = _Recorder()
    try:
        function, _ = CPickleSerializer().loads(_command(node))  # type: ignore[no-untyped-call]
        function(recorder, TransformWithStateInPandasFuncMode.PRE_INIT, None, iter(()))
    except Exception as error:
        raise UndeclaredError(f"its init raises {type(error).__name__}: {str(error).partition(chr(10))[0]}") from error
    return list(recorder.variables.values())


def _command(node: Any) -> bytes:
    """Return a pickled copy of a node's Python function, with the user's processor in it: the user's own stays untouched."""
    command = node.functionExpr().func().command()
    return bytes(int(byte) & 0xFF for byte in command.mkString(",").split(","))


class _Recorder:
    """A stand-in for the client through which a processor's handle speaks with the JVM. It only learns the variables."""

    def __init__(self) -> None:
        self.variables: dict[str, Declared] = {}

    def set_handle_state(self, state: Any) -> None:
        """Do nothing: the handle says how far it is, which changes nothing here."""

    def get_value_state(self, name: str, schema: StructType | str, ttl_ms: int | None) -> None:
        self._note(name, "value", schema, None, ttl_ms)

    def get_list_state(self, name: str, schema: StructType | str, ttl_ms: int | None) -> None:
        self._note(name, "list", schema, None, ttl_ms)

    def get_map_state(self, name: str, key: StructType | str, value: StructType | str, ttl_ms: int | None) -> None:
        self._note(name, "map", value, key, ttl_ms)

    def delete_if_exists(self, name: str) -> None:
        self.variables.pop(name, None)

    def _note(self, name: str, kind: str, value: StructType | str, key: StructType | str | None, ttl_ms: int | None) -> None:
        held = self._parse_string_schema(value)
        self.variables[name] = Declared(name, kind, held, None if key is None else self._parse_string_schema(key), ttl_ms)

    @staticmethod
    def _parse_string_schema(schema: StructType | str) -> StructType:
        """Return the schema as Spark's client does under this name."""
        kind = DataType.fromDDL(schema) if isinstance(schema, str) else schema
        return kind if isinstance(kind, StructType) else StructType().add("value", kind)
