import zipfile
from pathlib import Path

import pytest

from pitstop.errors import UsageError
from pitstop.launchers.spark_executor import executor_command
from pitstop.machine.java import spark_home

TOLD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_EXECUTOR_POD_NAME": "pitstop-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_CONF_DIR": "/opt/spark/conf",
}


def test_an_executor_is_what_spark_says():
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 0)}
    assert executor_command(TOLD | options, Path("/java"), Path("/spark")) == [
        *("/java/bin/java", "-Dn=0", "-Dn=2", "-Dn=10", "-Xms1024m", "-Xmx1024m", "-cp", "/opt/spark/conf:/spark/jars/*"),
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", "spark://CoarseGrainedScheduler@10.0.0.1:7078", "--executor-id", "3", "--cores", "1"),
        *("--app-id", "spark-1", "--hostname", "10.0.0.2", "--resourceProfileId", "0", "--podName", "pitstop-exec-3"),
    ]


def test_nobody_else_starts_one():
    with pytest.raises(UsageError, match="Spark has not said SPARK_DRIVER_URL"):
        executor_command({}, Path("/java"), Path("/spark"))


def test_spark_has_the_same_names_for_all_of_it():
    """If it has not, look up what its image's script does now."""
    (jar,) = (spark_home() / "jars").glob("spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as archive:
        variables = archive.read("org/apache/spark/deploy/k8s/Constants$.class")
        arguments = archive.read("org/apache/spark/scheduler/cluster/k8s/KubernetesExecutorBackend$.class")
    command = executor_command(TOLD, Path("/java"), Path("/spark"))
    assert [name for name in TOLD if name != "SPARK_CONF_DIR" and name.encode() not in variables] == []
    assert [word for word in command if word.startswith("--") and word.encode() not in arguments] == []
    assert b"SPARK_JAVA_OPT_" in variables
