"""The environment variables of a container."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.facts import Entries, Facts, NotYetError
from tests.kubernetes.rig.agent.sandbox import LIBRARY

REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Replaces ``$(NAME)`` by what that variable holds; one that is unknown stays as it is, and ``$$`` is a ``$``."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else environment.get(found[1], found[0])

    return REFERENCE.sub(value, text)


async def variables_of(
    facts: Facts, container: Object, entries: Entries, api: tuple[str, int], services: Iterable[Object]
) -> dict[str, str]:
    """All variables of a container; ``api``: where the API server listens; ``services``: all of the cluster."""
    image = facts.node.images.get(container["image"])
    result = {
        "PATH": facts.node.search_path,
        "HOME": "/root",
        "HOSTNAME": facts.host_name,
        **(image.environment if image else {}),
        "LD_PRELOAD": LIBRARY,
        "POD_IP": facts.address,
        # Where a host's name leads to a loopback address, Spark would take one of the machine's.
        "SPARK_LOCAL_IP": facts.address,
        "KUBERNETES_SERVICE_HOST": api[0],
        "KUBERNETES_SERVICE_PORT": str(api[1]),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(api[1]),
    }
    if facts.spec.get("enableServiceLinks", True):
        for service in services:
            if service["metadata"]["namespace"] == facts.namespace:
                result |= service_links(service)
    for source in container.get("envFrom", []):
        result |= await _all_entries(source, entries)
    for variable in container.get("env", []):
        value = await _value_of(variable, facts, container, entries, result)
        if value is not None:
            result[variable["name"]] = value
    return result


def service_links(service: Object) -> dict[str, str]:
    """The variables that tell the pods of its namespace of a service; they may well clash with a program's own."""
    address, ports = service["spec"].get("clusterIP", "None"), service["spec"].get("ports", [])
    if address == "None" or not ports:
        return {}
    name = service["metadata"]["name"].upper().replace("-", "_")
    first = ports[0]
    result = {
        f"{name}_SERVICE_HOST": address,
        f"{name}_SERVICE_PORT": str(first["port"]),
        f"{name}_PORT": f"{first.get('protocol', 'TCP').lower()}://{address}:{first['port']}",
    }
    for port in ports:
        if "name" in port:
            result[f"{name}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
        protocol = port.get("protocol", "TCP")
        one = f"{name}_PORT_{port['port']}_{protocol}"
        result[one] = f"{protocol.lower()}://{address}:{port['port']}"
        result |= {f"{one}_PROTO": protocol.lower(), f"{one}_PORT": str(port["port"]), f"{one}_ADDR": address}
    return result


async def _all_entries(source: Object, entries: Entries) -> dict[str, str]:
    found = dict[str, bytes]()
    if reference := source.get("configMapRef"):
        found |= await entries.of_config_map(reference["name"], reference.get("optional", False))
    if reference := source.get("secretRef"):
        found |= await entries.of_secret(reference["name"], reference.get("optional", False))
    return {source.get("prefix", "") + name: value.decode() for name, value in found.items()}


async def _value_of(variable: Object, facts: Facts, container: Object, entries: Entries, known: Mapping[str, str]) -> str | None:
    """What a variable is to hold; None: it is not to be there."""
    source = variable.get("valueFrom")
    if source is None:
        return expand(variable.get("value", ""), known)
    if "fieldRef" in source:
        return facts.field(source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        kind, _, resource = source["resourceFieldRef"]["resource"].partition(".")
        return str(container.get("resources", {}).get(kind, {}).get(resource, "0"))
    kind = "secretKeyRef" if "secretKeyRef" in source else "configMapKeyRef"
    reference = source[kind]
    read = entries.of_secret if kind == "secretKeyRef" else entries.of_config_map
    found = await read(reference["name"], reference.get("optional", False))
    if reference["key"] in found:
        return found[reference["key"]].decode()
    if reference.get("optional", False):
        return None
    raise NotYetError(f"couldn't find key {reference['key']} in {reference['name']}")
