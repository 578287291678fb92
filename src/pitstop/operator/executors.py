"""The settings of a cluster whose jobs run in pods that Spark itself makes (spec.spark.master: k8s).

Each job's driver runs in the control plane's pod, and asks the API server for its executors. It has the rights of a
ServiceAccount that the user names: the operator itself grants no rights.
"""

from __future__ import annotations

import json

from pitstop.operator.kube.api import Object

MASTER = "k8s://https://kubernetes.default.svc"
SETTINGS = "/etc/pitstop/spark"
"""The folder in which the control plane finds Spark's settings."""
TEMPLATE = "executor.json"


def variables() -> list[Object]:
    """Return the control plane's variables: the address of its drivers for executors, and the folder of Spark's settings."""
    return [
        {"name": "PITSTOP_DRIVER_HOST", "value": "$(POD_IP)"},
        {"name": "PITSTOP_BIND_ADDRESS", "value": "$(POD_IP)"},
        {"name": "SPARK_CONF_DIR", "value": SETTINGS},
    ]


def settings(
    namespace: str, control_plane_pod: str, image: str, pull_policy: str, executors: int, cores: int, template: Object
) -> dict[str, str]:
    """Return the files of the ConfigMap: Spark's settings, and the template of executor pods."""
    (container,) = template["spec"]["containers"]
    spark_settings = {
        "spark.kubernetes.namespace": namespace,
        # Executors go with the pod of their drivers.
        "spark.kubernetes.driver.pod.name": control_plane_pod,
        "spark.kubernetes.container.image": image,
        "spark.kubernetes.container.image.pullPolicy": pull_policy,
        "spark.kubernetes.executor.podTemplateFile": f"{SETTINGS}/{TEMPLATE}",
        "spark.kubernetes.executor.podTemplateContainerName": container["name"],
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(cores),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    }
    lines = "".join(f"{name} {value}\n" for name, value in spark_settings.items())
    return {"spark-defaults.conf": lines, TEMPLATE: json.dumps(template, indent=1)}
