"""What Spark's Python workers raise, as one sentence."""

import pytest

from pitstop.spark.base.failures import explain

TRACE = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/d/job.py", line 3, in louder
    import shouting
{error}
"""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("ValueError: no such word", "The query failed: ValueError: no such word"),
        (
            "ModuleNotFoundError: No module named 'shouting'",
            "The query failed: ModuleNotFoundError: No module named 'shouting'. If a package has it, name that among the "
            "requirements of the job (docs/dependencies.md).",
        ),
    ],
)
def test_a_module_that_a_function_misses_in_a_worker_says_what_to_do(error, told):
    assert explain(Exception(TRACE.format(error=error)), None).message == told
