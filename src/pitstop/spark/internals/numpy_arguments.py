"""Arguments of calls to the JVM: PySpark checks of each if it is a NumPy value.

To find out if NumPy is there, it loads its own test helpers, and with them pandas. That takes a third of a second of every start
of a driver, and 60 MB for as long as the driver lives.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pyspark.sql import types

from pitstop.spark.internals.without_pandas import without_pandas


def know_numpy_arguments() -> None:
    """Let PySpark recognize NumPy values in this process by NumPy alone."""
    if "pandas" not in sys.modules:
        with without_pandas():
            importlib.import_module("pyspark.testing.utils")  # ``functions.lit`` loads it
    types.NumpyScalarConverter.can_convert = _is_scalar  # type: ignore[assignment, method-assign]
    types.NumpyArrayConverter.can_convert = _is_row  # type: ignore[assignment, method-assign]


def _is_scalar(converter: Any, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _is_row(converter: Any, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1
