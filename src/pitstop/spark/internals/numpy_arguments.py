"""Arguments of calls to the JVM: PySpark asks of each whether it is NumPy's.

To know whether there is NumPy it loads its own helpers for tests, and with them pandas: a fifth of a second of every start of a
driver, and 60 MB for as long as that lives.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import types


def know_numpy_arguments() -> None:
    """Let PySpark tell values of NumPy in this process by NumPy alone."""
    types.NumpyScalarConverter.can_convert = _is_scalar  # type: ignore[assignment, method-assign]
    types.NumpyArrayConverter.can_convert = _is_row  # type: ignore[assignment, method-assign]


def _is_scalar(converter: Any, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _is_row(converter: Any, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1
