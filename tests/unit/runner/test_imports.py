"""What a runner loads before it knows its job, which each start waits for."""

import subprocess
import sys


def test_a_runner_loads_no_library_that_only_some_jobs_need():
    code = "import sys, pitstop.runner.__main__; print(*{'pandas', 'sqlglot', 'fastapi', 'alembic'}.intersection(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
