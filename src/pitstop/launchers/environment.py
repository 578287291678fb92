"""The environment of runners and workers: the variables of the server that they need, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

NEEDED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "VIRTUAL_ENV", "XDG_*"),
    *("LANG", "LANGUAGE", "LC_*"),
    *("JAVA_*", "JDK_*", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_*", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_*"),
    *("PYTHON*", "PYSPARK_*", "SPARK_*", "HADOOP_*", "PITSTOP_*"),
    *("SSL_CERT_*", "REQUESTS_CA_BUNDLE", "KRB5*", "KUBERNETES_*"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""Names of variables, or patterns of names, that every runner gets: of the system, Java, Python, Spark and Pitstop."""
NEVER = ("PITSTOP_TOKEN", "PITSTOP_VIEWER_TOKEN", "PITSTOP_METRICS_TOKEN", "PITSTOP_STORE")
"""Variables that no runner gets: jobs may not act for the server's users, and the URL of the store may have a password."""
DEFAULTS = {"TZ": "UTC"}
"""Defaults of variables. PySpark gives timestamps as local times without a zone: where clocks go back, two moments are one."""


def runner_environment(of_server: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that a runner gets; ``also``: further names or patterns, such as ``AWS_*``."""
    patterns = (*NEEDED, *also)
    return DEFAULTS | {
        name: value
        for name, value in of_server.items()
        if name not in NEVER and any(fnmatchcase(name, pattern) for pattern in patterns)
    }
