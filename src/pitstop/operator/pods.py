"""The pods of a cluster: its control plane, its members, and those that Spark makes. This module only describes them."""

from __future__ import annotations

from pitstop.machine.named_secrets import FOLDER
from pitstop.operator import executors
from pitstop.operator.applied import amount
from pitstop.operator.cluster_names import (
    CONTAINER,
    CONTROL_PLANE,
    EXECUTOR,
    MEMBER,
    PASSWORD_KEY,
    PORT,
    STORE_KEY,
    TOKEN_KEY,
    Named,
    labels,
    metadata,
)
from pitstop.operator.kube.api import Object
from pitstop.operator.resources.parts import GROUP
from pitstop.operator.resources.pods import ContainerResources
from pitstop.operator.settings import Image

TOKEN_MARK = f"{GROUP}/token"
USER = 1000
_TEMPORARY = "/tmp"
_SECRETS = "/run/secrets/pitstop"
"""The folder in which drivers of jobs find the secrets that jobs name."""
_GROUP_READS = 0o440
_CONFINED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def control_plane(cluster: Named, image: Image, token_mark: str) -> Object:
    """Return the StatefulSet of the server's pod. ``token_mark`` changes with the token, so that pods are replaced."""
    delay = cluster.resource.spec.jet.instance.scale_up_delay_millis / 1000
    names = [word for name in cluster.host_names for word in ("--host-name", name)]
    spec = cluster.resource.spec
    # A warm runner would keep the pods of its executors waiting; members are asked when there is something to run.
    spares = 0 if spec.executor_pods or spec.drivers_on_members else image.spares
    on_pods = ("--master", executors.MASTER, "--pass-env", "SPARK_CONF_DIR")
    # Drivers that are elsewhere outlive the pod.
    drivers = "--runners-on-members" if spec.drivers_on_members else "--stop-jobs-on-exit"
    memory = image.member_memory if spec.drivers_on_members else image.control_plane_memory
    arguments = [
        *("serve", "--host", "$(POD_IP)", *(on_pods if spec.executor_pods else ("--cluster-host", "$(POD_IP)"))),
        *(*names, *_store_arguments(cluster)),
        *("--spares", str(spares), "--scale-up-delay", f"{delay:g}", drivers, "--print-job-logs"),
    ]
    ready = {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 2, "timeoutSeconds": 5}
    container = _container(cluster, image, arguments, image.control_plane_cores, memory)
    if spec.control_plane is not None and spec.control_plane.resources is not None:
        container["resources"] = _resources(container["resources"], spec.control_plane.resources)
    container |= {
        "ports": [{"name": "http", "containerPort": PORT}],
        "startupProbe": ready | {"periodSeconds": 1, "failureThreshold": 300},
        "readinessProbe": ready,
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "failureThreshold": 6},
    }
    if spec.executor_pods:
        container["env"] = [*container["env"], *executors.variables()]
        container["volumeMounts"] = [*container["volumeMounts"], {"name": "spark", "mountPath": executors.SETTINGS}]
    return _stateful_set(cluster, image, cluster.control_plane, CONTROL_PLANE, 1, container, token_mark)


def members(cluster: Named, image: Image, token_mark: str) -> Object:
    """Return the StatefulSet of the pods that lend their processors to jobs."""
    own = cluster.resource.spec.resources
    cores = str(_cores(own) or image.member_cores)
    arguments = ["member", "--name", "$(POD_NAME)", "--host", "$(POD_IP)", "--cores", cores, *_store_arguments(cluster)]
    memory = image.member_memory
    if cluster.resource.spec.drivers_on_members:
        arguments.append("--print-job-logs")
        memory = image.control_plane_memory
    container = _container(cluster, image, arguments, cores, memory)
    if own is not None:
        container["resources"] = _resources(container["resources"], own)
    count = 0 if cluster.resource.spec.executor_pods else cluster.resource.spec.cluster_size
    return _stateful_set(cluster, image, cluster.name, MEMBER, count, container, token_mark)


def _resources(usual: Object, own: ContainerResources) -> Object:
    """Return a container's resources. Where a request would be above its limit, the usual value gives way to the spec's."""
    requests, limits = own.requests or {}, own.limits or {}
    all_requests, all_limits = {**usual["requests"], **requests}, {**usual["limits"], **limits}
    for name in all_requests.keys() & all_limits.keys():
        request, limit = amount(all_requests[name]), amount(all_limits[name])
        if request is None or limit is None or request <= limit:
            continue
        if name not in limits:
            all_limits[name] = all_requests[name]
        elif name not in requests:
            all_requests[name] = all_limits[name]
    return {"requests": all_requests, "limits": all_limits}


def _cores(resources: ContainerResources | None) -> int | None:
    """Return the number of cores that a member lends, if its resources say how many it has: at least one."""
    if resources is None:
        return None
    quantity = (resources.requests or {}).get("cpu") or (resources.limits or {}).get("cpu")
    cpu = amount(quantity) if quantity is not None else None
    return max(1, int(cpu)) if cpu is not None else None


def spark_settings(cluster: Named, image: Image) -> Object:
    """Return the ConfigMap that tells drivers how to make the pods of their executors."""
    spec = cluster.resource.spec
    files = executors.settings(
        cluster.namespace,
        f"{cluster.control_plane}-0",
        image.name,
        image.pull_policy,
        spec.cluster_size,
        image.member_cores,
        _executor_template(cluster, image),
    )
    return {"metadata": metadata(cluster, f"{cluster.name}-spark"), "data": files}


def _executor_template(cluster: Named, image: Image) -> Object:
    """Return the template of an executor's pod. Spark adds the image, the arguments, and the resource requests."""
    mounts = [{"name": "data", "mountPath": cluster.data}, {"name": "temporary", "mountPath": _TEMPORARY}]
    container = {
        "name": CONTAINER,
        "env": [{"name": "HOME", "value": _TEMPORARY}, *cluster.resource.spec.own_variables],
        "volumeMounts": mounts,
        "securityContext": _CONFINED,
    }
    spec = _pod_spec(cluster, EXECUTOR, container, 30, image)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _pod_metadata(cluster, EXECUTOR), "spec": spec}


def _store_arguments(cluster: Named) -> tuple[str, ...]:
    """Return the arguments for the store: a file on the volume, which pods of one node share; none if $PITSTOP_STORE names it."""
    return () if cluster.resource.spec.store_secret_name else ("--store", "shared-file")


def _container(cluster: Named, image: Image, arguments: list[str], cores: str, memory: str) -> Object:
    return {
        "name": CONTAINER,
        "image": image.name,
        "imagePullPolicy": image.pull_policy,
        "args": arguments,
        "env": _variables(cluster),
        "resources": {"requests": {"cpu": cores, "memory": memory}, "limits": {"memory": memory}},
        "volumeMounts": [
            {"name": "data", "mountPath": cluster.data},
            {"name": "temporary", "mountPath": _TEMPORARY},
            *([{"name": "secrets", "mountPath": _SECRETS, "readOnly": True}] if cluster.resource.spec.job_secret_name else []),
        ],
        "securityContext": _CONFINED,
    }


def _variables(cluster: Named) -> list[Object]:
    variables: list[Object] = [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "HOME", "value": _TEMPORARY},
        # The pods own only the folders that they make in the volume, not the volume itself.
        {"name": "PITSTOP_DATA", "value": f"{cluster.data}/pitstop"},
        # For commands in a pod: kubectl exec hazelcast-0 -- pitstop list-jobs
        {"name": "PITSTOP_URL", "value": f"http://{cluster.name}:{PORT}"},
        _from_secret("PITSTOP_TOKEN", cluster.token_secret, TOKEN_KEY),
    ]
    store = cluster.resource.spec.store_secret_name
    if store is not None:
        variables += [
            _from_secret("PITSTOP_STORE", store, STORE_KEY),
            _from_secret("PGPASSWORD", store, PASSWORD_KEY, optional=True),
        ]
    if cluster.resource.spec.job_secret_name is not None:
        variables.append({"name": FOLDER, "value": _SECRETS})
    return [*variables, *cluster.resource.spec.own_variables]


def _from_secret(variable: str, secret: str, key: str, optional: bool = False) -> Object:
    reference: Object = {"name": secret, "key": key}
    return {"name": variable, "valueFrom": {"secretKeyRef": reference | ({"optional": True} if optional else {})}}


def _stateful_set(
    cluster: Named, image: Image, name: str, part: str, replicas: int, container: Object, token_mark: str
) -> Object:
    # Jobs end at an epoch boundary, members once their tasks have ended.
    pod = _pod_spec(cluster, part, container, 90, image)
    spec = cluster.resource.spec
    if spec.job_secret_name is not None:
        secret = {"secretName": spec.job_secret_name, "defaultMode": _GROUP_READS}
        pod["volumes"] = [*pod["volumes"], {"name": "secrets", "secret": secret}]
    if part == CONTROL_PLANE and spec.spark is not None and spec.executor_pods:
        pod |= {"automountServiceAccountToken": True, "serviceAccountName": spec.spark.service_account_name}
        pod["volumes"] = [*pod["volumes"], {"name": "spark", "configMap": {"name": f"{cluster.name}-spark"}}]
    return {
        "metadata": metadata(cluster, name, part),
        "spec": {
            "replicas": replicas,
            "serviceName": f"{cluster.name}-pods",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels(cluster, part)},
            "template": {"metadata": _pod_metadata(cluster, part, {TOKEN_MARK: token_mark}), "spec": pod},
        },
    }


def _pod_metadata(cluster: Named, part: str, annotations: dict[str, str] | None = None) -> Object:
    spec = cluster.resource.spec
    all_annotations = spec.own_annotations | (annotations or {})
    return {
        "labels": spec.own_labels | labels(cluster, part),
        **({"annotations": all_annotations} if all_annotations else {}),
    }


def _pod_spec(cluster: Named, part: str, container: Object, grace_seconds: int, image: Image) -> Object:
    secrets: Object = {"imagePullSecrets": [{"name": name} for name in image.pull_secrets]} if image.pull_secrets else {}
    account = cluster.resource.spec.service_account_name
    return {
        **secrets,
        **({"serviceAccountName": account} if account is not None else {}),
        **_scheduling(cluster, part),
        "containers": [container],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": f"{cluster.name}-data"}},
            {"name": "temporary", "emptyDir": {}},
        ],
        "automountServiceAccountToken": False,
        # The variables for a Service called "pitstop" would be taken for settings of ours.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_seconds,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            # Else each pod that starts would open to its group the files that the others keep private to their user.
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _scheduling(cluster: Named, part: str) -> Object:
    """Return the fields by which a node is chosen. The server's own ones take the place of those of all pods."""
    spec = cluster.resource.spec
    of_server = spec.control_plane.scheduling if spec.control_plane is not None and part == CONTROL_PLANE else None
    fields: Object = {}
    for each in (spec.scheduling, of_server):
        fields |= each.model_dump(by_alias=True, exclude_none=True) if each is not None else {}
    if part != CONTROL_PLANE and not spec.store_secret_name:
        fields["affinity"] = _on_one_node(cluster, fields.get("affinity", {}))
    return fields


def _on_one_node(cluster: Named, affinity: Object) -> Object:
    """Return the affinity, and that to the node of the control plane, with which the pod shares a file and a volume."""
    there = {"labelSelector": {"matchLabels": labels(cluster, CONTROL_PLANE)}, "topologyKey": "kubernetes.io/hostname"}
    required, to_pods = "requiredDuringSchedulingIgnoredDuringExecution", affinity.get("podAffinity", {})
    return {**affinity, "podAffinity": {**to_pods, required: [there, *to_pods.get(required, [])]}}
