"""The process of an executor in a pod that Spark itself has made: Spark's own image does this in a script.

Spark tells by variables what it is to be (BasicExecutorFeatureStep, Spark 4.3), and gives the image ``executor`` as its argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pitstop.errors import UsageError

_MAIN = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_MEMORY = "SPARK_EXECUTOR_MEMORY"
_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def executor_command(environment: Mapping[str, str], java: Path, spark: Path) -> list[str]:
    """Return the executor's command, with the Java of that home and Spark's jars. UsageError if this is no pod of an executor."""
    missing = [variable for variable in (*_ARGUMENTS.values(), _MEMORY) if variable not in environment]
    if missing:
        raise UsageError(f"This is no pod of an executor: Spark has not said {missing[0]}. Executors are started by Spark alone.")
    options = {int(match[1]): value for name, value in environment.items() if (match := _OPTION.fullmatch(name))}
    memory = environment[_MEMORY]
    class_path = [part for part in (environment.get("SPARK_CONF_DIR"), environment.get("SPARK_CLASSPATH")) if part]
    return [
        str(java / "bin" / "java"),
        *(options[number] for number in sorted(options)),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        ":".join([*class_path, f"{spark}/jars/*"]),
        _MAIN,
        *(word for argument, variable in _ARGUMENTS.items() for word in (argument, environment[variable])),
    ]
