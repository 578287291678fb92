"""Code of archives that is sent along with pickled objects, by Spark's own copy of cloudpickle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipimport import zipimporter

import pyspark.cloudpickle


@contextmanager
def code_sent_along(kind: type) -> Iterator[None]:
    """Pickle a class that was imported from an archive with the code of its package, within this context.

    Spark's process that plans a streaming read knows the ``.py`` files of a session, but none of its archives.
    """
    package = sys.modules.get(kind.__module__.partition(".")[0])
    if package is None or not isinstance(package.__loader__, zipimporter):
        yield
        return
    pickler: Any = pyspark.cloudpickle
    pickler.register_pickle_by_value(package)
    try:
        yield
    finally:
        pickler.unregister_pickle_by_value(package)
