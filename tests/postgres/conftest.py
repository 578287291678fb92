"""These need the server of scripts/with-postgres: make test-postgres."""

import os

if "PITSTOP_TEST_POSTGRES" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
