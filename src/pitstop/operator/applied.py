"""Comparison of an object with its target, so that an object that needs no change costs no request."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal, InvalidOperation
from typing import Any

from pitstop.operator.kube.api import Object
from pitstop.operator.resources.parts import GROUP

APPLIED = f"{GROUP}/applied"
"""The annotation with the digest of what was applied last. Fields that are no longer wanted are told by it alone."""
_BY_KEY = {"containers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath", "ownerReferences": "uid"}
"""The lists to which others may add items, with the field that tells items apart. All other lists are ours as a whole."""
_AMOUNTS = ("requests", "limits")
_UNITS = {
    **{"m": Decimal("0.001"), "": Decimal(1)},
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def marked(target: Object) -> Object:
    """Return an object with the digest of what it asks for."""
    digest = hashlib.sha256(json.dumps(target, sort_keys=True).encode()).hexdigest()[:16]
    metadata = target["metadata"]
    annotations = metadata.get("annotations", {}) | {APPLIED: digest}
    return {**target, "metadata": {**metadata, "annotations": annotations}}


def is_as_wanted(target: Object, there: Object) -> bool:
    """True if to apply ``target``, which is marked, would change nothing of the object that is there."""
    return _is_in(target, there, "", "")


def _is_in(target: Any, there: Any, name: str, above: str) -> bool:
    if isinstance(target, dict):
        # Kubernetes leaves out texts that are empty.
        return isinstance(there, dict) and all(
            _is_in(value, there[key], key, name) if key in there else value == "" for key, value in target.items()
        )
    if isinstance(target, list):
        return isinstance(there, list) and _all_in(target, there, name)
    return bool(target == there) or (above in _AMOUNTS and amount(target) == amount(there) is not None)


def _all_in(targets: list[Any], there: list[Any], name: str) -> bool:
    key = _BY_KEY.get(name)
    if key is None:
        return len(targets) == len(there) and all(_is_in(each, its, name, "") for each, its in zip(targets, there, strict=True))
    items = {each.get(key): each for each in there}
    return all(each[key] in items and _is_in(each, items[each[key]], name, "") for each in targets)


def amount(quantity: Any) -> Decimal | None:
    """Return a quantity of Kubernetes, which it writes in its own way: 2048Mi becomes 2Gi. None if it is none."""
    text = str(quantity)
    number = text.rstrip("".join(_UNITS))
    try:
        return Decimal(number) * _UNITS[text[len(number) :]]
    except (InvalidOperation, KeyError):
        return None
