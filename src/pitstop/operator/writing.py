"""The operator's writes to its own resources: their status, their events, their owners and their finalizers."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

from pitstop.operator import kinds
from pitstop.operator.conditions import Outlook, Remark, conditions_of, usual_outlook
from pitstop.operator.kube.api import FIELD_MANAGER, Api, ApiFault, Kind, Object
from pitstop.operator.resources.cluster import ClusterPhase
from pitstop.operator.resources.job import JobPhase
from pitstop.operator.resources.map import MapState
from pitstop.operator.resources.parts import GROUP, Status
from pitstop.operator.resources.snapshot import SnapshotState

log = structlog.get_logger("pitstop.operator")

FINALIZER = f"{GROUP}/finalizer"
"""The finalizer that holds a deleted resource until the thing that it stands for is gone, too."""
Phase = ClusterPhase | MapState | JobPhase | SnapshotState
_LONGEST_NOTE = 1024


class Writer:
    """Writes through ``api``. ``now`` returns the time of day."""

    def __init__(self, api: Api, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._api, self._now = api, now
        self._reporter = socket.gethostname()

    def status(
        self,
        kind: Kind,
        body: Object,
        status: Status,
        phase: Phase,
        message: str | None,
        outlook: Outlook | None = None,
        remarks: Sequence[Remark] = (),
    ) -> Object:
        """Write the status of a resource if it differs, with an event if its phase is new. Return the resource as it then is."""
        now = self._now().replace(microsecond=0)
        generation = body["metadata"]["generation"]
        conditions = conditions_of(phase, message, status.conditions, generation, now, outlook, remarks)
        as_json = status.model_copy(update={"conditions": conditions}).model_dump(mode="json", by_alias=True, exclude_none=True)
        before = body.get("status", {})
        if as_json == before:
            return body
        self._api.apply_status(kind, {"metadata": _same(body), "status": as_json})
        if _phase_in(before) != phase.value:
            log.info("status", kind=kind.name, name=body["metadata"]["name"], phase=phase.value, message=message)
            note = message or f"{body['metadata']['name']} is {phase.value}"
            self.event(kind, body, phase.value, note, (outlook or usual_outlook(phase)).degraded)
        return body | {"status": as_json}

    def is_held(self, body: Object, owner: Object | None, finalizer: bool) -> bool:
        """True if the resource already has this owner, and has the finalizer exactly if ``finalizer``."""
        there = {each["uid"] for each in body["metadata"].get("ownerReferences", [])}
        has_finalizer = FINALIZER in body["metadata"].get("finalizers", [])
        return has_finalizer == finalizer and (owner is None or owner["uid"] in there)

    def hold(self, kind: Kind, body: Object, owner: Object | None, finalizer: bool) -> None:
        """Make a resource go with its owner, and hold it by a finalizer if ``finalizer``."""
        metadata = _same(body) | ({"ownerReferences": [owner]} if owner is not None else {})
        self._api.apply(kind, {"metadata": metadata | ({"finalizers": [FINALIZER]} if finalizer else {})})

    def release(self, kind: Kind, body: Object) -> None:
        """Let a resource go that is being deleted, also if the finalizer came with a manifest, as out of a backup."""
        finalizers = body["metadata"].get("finalizers", [])
        if FINALIZER in finalizers:
            self._api.set_finalizers(kind, body, [each for each in finalizers if each != FINALIZER])

    def event(self, kind: Kind, body: Object, reason: str, note: str, warning: bool = False) -> None:
        """Record an event about a resource, for ``kubectl describe`` and ``kubectl events``."""
        metadata, moment = body["metadata"], self._now().isoformat(timespec="seconds").replace("+00:00", "Z")
        record = {
            "metadata": {"name": f"{metadata['name']}.{secrets.token_hex(8)}", "namespace": metadata["namespace"]},
            "involvedObject": {
                "apiVersion": kind.api_version,
                "kind": kind.name,
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
            "reason": reason,
            "message": note[:_LONGEST_NOTE],
            "type": "Warning" if warning else "Normal",
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
            "reportingInstance": self._reporter,
        }
        try:
            self._api.create(kinds.EVENT, record)
        except ApiFault as error:  # nothing depends on it
            log.warning("an event could not be recorded", reason=str(error))


def _same(body: Object) -> Object:
    """Return metadata that names this very resource, and no later one of its name."""
    metadata = body["metadata"]
    return {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]}


def _phase_in(status: Object) -> str | None:
    phase: str | None = status.get("phase") or status.get("state")
    return phase
