"""Kubernetes and clusters as scripts for reconcilers: objects in memory, and every request written down."""

import base64
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pitstop.operator import kinds
from pitstop.operator.errands import Errands, Room
from pitstop.operator.jobs import job_id
from pitstop.operator.reconciling.surroundings import Slow, Surroundings
from pitstop.operator.settings import Image
from pitstop.operator.world import World
from pitstop.operator.writing import Writer

MADE = "2026-11-23T12:00:00Z"
NAMESPACE = "lab"


class ScriptedApi:
    """An API server with server-side apply of one manager: fields that it no longer names go, those of others stay."""

    def __init__(self):
        self.objects = {}
        self.said = []
        self.owned = {}
        self.versions = itertools.count(1)
        self.requests = []
        self.uids = itertools.count(1)
        self.tell = lambda kind, what, found: None

    def put(self, kind, name, spec=None, status=None, **metadata):
        """Let an object be there, made by somebody else."""
        found = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{next(self.uids)}",
                "generation": 1,
                "creationTimestamp": MADE,
                **metadata,
            },
        }
        found |= {"spec": spec} if spec is not None else {}
        found |= {"status": status} if status is not None else {}
        return self._keep(kind, found)

    def get(self, kind, namespace, name):
        self.requests.append(("GET", kind.name, name))
        return self.objects.get((kind, name))

    def create(self, kind, made):
        self.requests.append(("CREATE", kind.name, made["metadata"]["name"]))
        if kind is kinds.SECRET:
            made = made | {"data": {key: base64.b64encode(each.encode()).decode() for key, each in made["stringData"].items()}}
        if kind is kinds.EVENT:
            self.objects.setdefault((kind, made["metadata"]["name"]), made)
            return made
        return self._apply(kind, made)

    def apply(self, kind, wanted):
        self.requests.append(("APPLY", kind.name, wanted["metadata"]["name"]))
        return self._apply(kind, wanted)

    def set_finalizers(self, kind, found, finalizers):
        name = found["metadata"]["name"]
        self.requests.append(("FINALIZERS", kind.name, name))
        there = self.objects[kind, name]
        assert there["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
        kept = there | {"metadata": there["metadata"] | {"finalizers": finalizers}}
        if "deletionTimestamp" in there["metadata"] and not finalizers:
            del self.objects[kind, name]
            self.tell(kind, "DELETED", kept)
        else:
            self._keep(kind, kept)

    def delete(self, kind, name):
        """Let a user delete an object: it goes at once if nothing holds it."""
        there = self.objects[kind, name]
        self._keep(kind, there | {"metadata": there["metadata"] | {"deletionTimestamp": MADE}})
        if not there["metadata"].get("finalizers"):
            del self.objects[kind, name]

    def apply_status(self, kind, wanted):
        name = wanted["metadata"]["name"]
        self.requests.append(("STATUS", kind.name, name))
        self.said.append((name, wanted["status"].get("phase") or wanted["status"].get("state")))
        self._keep(kind, self.objects[kind, name] | {"status": wanted["status"]})

    def events(self, name):
        return [
            each["reason"]
            for (kind, _), each in self.objects.items()
            if kind is kinds.EVENT and each["involvedObject"]["name"] == name
        ]

    def status(self, kind, name):
        return self.objects[kind, name].get("status", {})

    def _apply(self, kind, wanted):
        name = wanted["metadata"]["name"]
        there = self.objects.get((kind, name)) or self.put(kind, name)
        metadata = there["metadata"] | wanted["metadata"]
        others = [each for each in there["metadata"].get("finalizers", []) if each not in self.owned.get((kind, name), ())]
        ours = wanted["metadata"].get("finalizers", [])
        self.owned[kind, name] = [each for each in ours if each not in others]
        metadata["finalizers"] = [*others, *self.owned[kind, name]]
        return self._keep(kind, there | wanted | {"metadata": metadata})

    def _keep(self, kind, found):
        found = found | {"metadata": found["metadata"] | {"resourceVersion": f"{next(self.versions)}"}}
        self.objects[kind, found["metadata"]["name"]] = found
        self.tell(kind, "MODIFIED", found)
        return found


@dataclass
class ScriptedConnection:
    """A cluster's server that answers, and the jobs and saved states that it has."""

    service: object
    jobs: dict = field(default_factory=dict)
    info: object = "answers"
    is_young: bool = False

    def job(self, identity):
        return self.jobs.get(identity)

    def ask_again(self, identity):
        self.jobs[identity] = self.service.job(identity)

    def maps(self):
        return self.service.maps()

    def snapshots(self):
        return self.service.snapshots()


class ScriptedServers:
    def __init__(self):
        self.connections = {}

    def of(self, uid):
        return self.connections.get(uid)

    def follow(self, uid, *_):
        return self.connections.get(uid)


class Lab:
    """All that a reconciler needs."""

    def __init__(self, files_from=None):
        self.api = ScriptedApi()
        self.looked_at = []
        self.world = World(lambda: self.api, self.looked_at.append)
        self.servers = ScriptedServers()
        self.api.tell = self._tell
        writer = Writer(self.api, lambda: datetime(2026, 11, 23, 12, 1, tzinfo=UTC))
        self.around = Surroundings(self.api, self.world, writer, self.servers, Image(), self._slow(), files_from)

    def _slow(self):
        """Errands that are run as they are begun, or, once ``later`` is a list, when a test runs them."""
        self.later = None

        def start(run):
            run() if self.later is None else self.later.append(run)

        room = Room(16, 8, 3)
        return Slow(Errands(room, self.looked_at.append, start), Errands(room, self.looked_at.append, start))

    def _tell(self, kind, what, found):
        cache = (self.world._own | self.world._children).get(kind)
        if cache is not None:
            cache._take(what, found)

    def cluster(self, name, service, **spec):
        """Return a cluster that runs, and the connection to its server."""
        spec = {"jet": {"resourceUploadEnabled": True}} | spec
        found = self.api.put(kinds.HAZELCAST, name, spec, {"phase": "Running"})
        self.servers.connections[found["metadata"]["uid"]] = connection = ScriptedConnection(service)
        return found, connection

    def written(self):
        """Return the requests since the last call that change something, without those for events."""
        changed = [each for each in self.api.requests if each[0] != "GET" and each[1] != "Event"]
        self.api.requests.clear()
        return changed

    def identity(self, name):
        return job_id(self.api.objects[kinds.JET_JOB, name]["metadata"]["uid"])


def owned_by(cluster):
    metadata = cluster["metadata"]
    return {"apiVersion": "hazelcast.com/v1alpha1", "kind": "Hazelcast", "name": metadata["name"], "uid": metadata["uid"]}
