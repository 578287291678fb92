"""Fails when PySpark asks otherwise whether an argument is NumPy's."""

import subprocess
import sys

import numpy as np
import pytest
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark


def test_values_of_numpy_go_to_the_jvm_as_what_they_are(spark):
    assert [row.id for row in spark.range(3).filter(F.col("id") == np.int64(1)).collect()] == [1]
    assert spark.range(1).select(F.lit(np.array([1.5, 2.5])).alias("row")).first().row == [1.5, 2.5]
    assert spark._jvm.java.util.Arrays.toString(np.array([1, 2])) == "[1, 2]"


def test_pandas_is_not_loaded_to_know_what_is_numpys():
    code = """
import sys
from py4j.protocol import INPUT_CONVERTER
from pyspark.sql import functions as F
from pitstop.spark.internals.numpy_arguments import know_numpy_arguments

know_numpy_arguments()
print(any(converter.can_convert("text") for converter in INPUT_CONVERTER), "pandas" in sys.modules)
try:
    F.lit("text")
except Exception as error:
    print(type(error).__name__, "pandas" in sys.modules)
import pandas
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False False", "AssertionError False"], "there is no session"
