"""The CustomResourceDefinitions of our resources, made from their models.

Kubernetes itself refuses as much as it can, by rules in CEL, so that wrong resources are refused even while the operator is
away. The rules need Kubernetes 1.30 or later (``optionalOldSelf``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pitstop.operator.resources.cluster import Drivers, Hazelcast, SparkMaster
from pitstop.operator.resources.job import FINISHED, JetJob, JobPhase, JobStateWanted
from pitstop.operator.resources.map import Map
from pitstop.operator.resources.parts import CLUSTER_PATTERN, GROUP, LONGEST_CLUSTER_NAME, LONGEST_NAME, VERSION, Part
from pitstop.operator.resources.snapshot import JetJobSnapshot, SnapshotState

UNCHANGED = "field cannot be updated"
NOT_RUNNING_AT_FIRST = "should be set to Running on creation"
JOB_FINISHED = "job execution is finished or being finished, state change is not allowed"
ONLY_WHILE_RUNNING = "can be set only for JetJob with Running status"
NEEDS_ACCOUNT = "master k8s needs serviceAccountName"
NO_MEMBERS = "master k8s has no members that could run drivers"
NEEDS_BASE_DIR = "losslessRestartEnabled needs spec.persistence.baseDir"
CODE_NEEDED = "can be changed, or replaced by remoteURL, and not be removed"
ONE_SOURCE = "give bucketConfig or remoteURL, not both"

CLUSTER_NAME = (
    f"is no name of a cluster: its Service and pods need a letter first, then letters, digits or '-', "
    f"{LONGEST_CLUSTER_NAME} in all at most, lower case"
)
NAME_TOO_LONG = f"is longer than a name may be: give spec.name, {LONGEST_NAME} characters at most"
NAME_IS_AN_ID = "is the id of a job, or may become it, and cannot be its name: give spec.name"

Document = dict[str, Any]
OF_ALL_KINDS: Document = {
    "apiVersion": {"type": "string", "description": f"Group and version: {GROUP}/{VERSION}"},
    "kind": {"type": "string", "description": "Kind of the resource"},
    # Kubernetes describes it itself, and allows only these two to be described here. Their length bounds the cost of rules.
    "metadata": {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": 253} for name in ("name", "generateName")},
    },
}


@dataclass(frozen=True)
class Column:
    """A column that ``kubectl get`` prints; if ``wide``, only with ``-o wide``."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False
    description: str = ""

    def document(self) -> Document:
        column: Document = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.type == "integer":
            column["format"] = "int64"
        return column | ({"description": self.description} if self.description else {}) | ({"priority": 1} if self.wide else {})


@dataclass(frozen=True)
class Rule:
    """A rule for a part of a resource. ``field`` is the path, below that part, that the message is about."""

    says: str
    message: str
    field: str = ""
    forbidden: bool = False
    also_when_created: bool = False

    def document(self) -> Document:
        rule: Document = {"rule": self.says, "message": self.message}
        if self.field:
            rule["fieldPath"] = self.field
        if self.forbidden:
            rule["reason"] = "FieldValueForbidden"
        if self.also_when_created:
            rule["optionalOldSelf"] = True
        return rule


@dataclass(frozen=True)
class Kind:
    """A kind of resource, as it is declared to Kubernetes."""

    name: str
    model: type[Part]
    plural: str
    short: tuple[str, ...]
    columns: tuple[Column, ...]
    rules: dict[str, tuple[Rule, ...]] = field(default_factory=dict)
    """The rules by the part that they are for: "" for the whole resource, or "spec"."""
    scale: Document | None = None

    @property
    def singular(self) -> str:
        return self.name.lower()

    def definition(self) -> Document:
        """Return the CustomResourceDefinition."""
        subresources: Document = {"status": {}} | ({"scale": self.scale} if self.scale else {})
        schema = structural(self.model.model_json_schema(by_alias=True))
        schema["properties"] = OF_ALL_KINDS | schema["properties"]
        for part, rules in self.rules.items():
            place = schema["properties"][part] if part else schema
            place["x-kubernetes-validations"] = [rule.document() for rule in rules]
        version = {
            "name": VERSION,
            "served": True,
            "storage": True,
            "subresources": subresources,
            "additionalPrinterColumns": [column.document() for column in self.columns],
            "schema": {"openAPIV3Schema": schema},
        }
        names = {"kind": self.name, "listKind": f"{self.name}List", "plural": self.plural, "singular": self.singular}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": names | {"shortNames": list(self.short), "categories": ["pitstop"]},
                "versions": [version],
            },
        }


def unchanged(name: str) -> Rule:
    """Return the rule that a field of a spec never changes, a missing one included."""
    same = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
    return Rule(same, UNCHANGED, f".{name}", forbidden=True)


def _when_made(says: str, message: str, field: str) -> Rule:
    """Return a rule for new resources only. A resource that is older than the rule can still be changed and deleted."""
    return Rule(f"oldSelf.hasValue() || {says}", message, field, also_when_created=True)


NAMED_BY_ITSELF = _when_made(
    f"has(self.spec.name) || size(self.metadata.name) <= {LONGEST_NAME}", NAME_TOO_LONG, ".metadata.name"
)
_NO_ID = "!{}.matches('^[0-9a-f]{{4}}(-[0-9a-f]{{4}}){{3}}$')"


def _words(*values: str) -> str:
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


_PHASE = "(has(oldSelf.status) && has(oldSelf.status.phase) ? oldSelf.status.phase : '')"
_SAME_STATE = "self.spec.state == oldSelf.spec.state"
_EXPORT = "(has(oldSelf.status) && has(oldSelf.status.state) ? oldSelf.status.state : '')"
_RUNNING = JobStateWanted.RUNNING.value
_FIXED_OF_A_JOB = (
    "name",
    "hazelcastResourceName",
    "jarName",
    "mainClass",
    "arguments",
    "options",
    "initialSnapshotResourceName",
    "allowDrop",
    "allowShared",
)

HAZELCAST = Kind(
    "Hazelcast",
    Hazelcast,
    "hazelcasts",
    ("hz",),
    (
        Column("Status", ".status.phase", description="How the cluster is"),
        Column("Members", ".status.hazelcastClusterStatus.readyMembers", description="Present members, of those requested"),
        Column("Message", ".status.message", wide=True),
    ),
    {
        "": (
            _when_made(
                f"(self.metadata.name.matches('{CLUSTER_PATTERN}') && size(self.metadata.name) <= {LONGEST_CLUSTER_NAME})",
                CLUSTER_NAME,
                ".metadata.name",
            ),
        ),
        "spec": (
            Rule(
                # Kubernetes tries it on the empty default, too, before that is filled.
                "has(self.persistence) || !has(self.jet) || !has(self.jet.instance)"
                " || !has(self.jet.instance.losslessRestartEnabled) || !self.jet.instance.losslessRestartEnabled",
                NEEDS_BASE_DIR,
                ".jet.instance.losslessRestartEnabled",
            ),
            Rule(
                f"!has(self.spark) || !has(self.spark.master) || self.spark.master != '{SparkMaster.KUBERNETES}'"
                " || has(self.spark.serviceAccountName)",
                NEEDS_ACCOUNT,
                ".spark.serviceAccountName",
            ),
            Rule(
                f"!has(self.spark) || !has(self.spark.master) || self.spark.master != '{SparkMaster.KUBERNETES}'"
                f" || !has(self.spark.drivers) || self.spark.drivers != '{Drivers.MEMBERS}'",
                NO_MEMBERS,
                ".spark.drivers",
            ),
        ),
    },
    {
        "specReplicasPath": ".spec.clusterSize",
        "statusReplicasPath": ".status.members",
        "labelSelectorPath": ".status.selector",
    },
)
MAP = Kind(
    "Map",
    Map,
    "maps",
    (),
    (
        Column("Status", ".status.state", description="How the map is"),
        Column("Hazelcast-Resource", ".spec.hazelcastResourceName", wide=True),
        Column("Message", ".status.message", wide=True),
    ),
    {
        "": (NAMED_BY_ITSELF,),
        "spec": (
            unchanged("name"),
            unchanged("hazelcastResourceName"),
            Rule(
                "has(self.eventJournal) == has(oldSelf.eventJournal)"
                " && (!has(self.eventJournal) || self.eventJournal.capacity == oldSelf.eventJournal.capacity)",
                UNCHANGED,
                ".eventJournal",
                forbidden=True,
            ),
        ),
    },
)
JET_JOB = Kind(
    "JetJob",
    JetJob,
    "jetjobs",
    ("jj",),
    (
        Column("Status", ".status.phase", description="Where the job is in its life"),
        Column("Id", ".status.id", "integer"),
        Column("SubmissionTime", ".status.submissionTime"),
        Column("CompletionTime", ".status.completionTime"),
        Column("Hazelcast-Resource", ".spec.hazelcastResourceName", wide=True),
    ),
    {
        "": (
            _when_made(f"self.spec.state == '{_RUNNING}'", NOT_RUNNING_AT_FIRST, ".spec.state"),
            NAMED_BY_ITSELF,
            _when_made(f"has(self.spec.name) || {_NO_ID.format('self.metadata.name')}", NAME_IS_AN_ID, ".metadata.name"),
            _when_made(f"!has(self.spec.name) || {_NO_ID.format('self.spec.name')}", NAME_IS_AN_ID, ".spec.name"),
            Rule(f"{_SAME_STATE} || !({_PHASE} in {_words(*FINISHED)})", JOB_FINISHED, ".spec.state", forbidden=True),
            Rule(
                f"{_SAME_STATE} || self.spec.state == '{_RUNNING}' || {_PHASE} in {_words(JobPhase.RUNNING, *FINISHED)}"
                f" || (self.spec.state == '{JobStateWanted.CANCELED}' && {_PHASE} == '{JobPhase.SUSPENDED}')",
                ONLY_WHILE_RUNNING,
                ".spec.state",
                forbidden=True,
            ),
        ),
        "spec": (
            *(unchanged(name) for name in _FIXED_OF_A_JOB),
            Rule(
                "!has(self.bucketConfig) || has(oldSelf.bucketConfig) || has(oldSelf.remoteURL)",
                UNCHANGED,
                ".bucketConfig",
                forbidden=True,
            ),
            # Once it was gone, it could not be put back.
            Rule(
                "has(self.bucketConfig) || !has(oldSelf.bucketConfig) || has(self.remoteURL)",
                CODE_NEEDED,
                ".bucketConfig",
                forbidden=True,
            ),
            Rule("!has(self.bucketConfig) || !has(self.remoteURL)", ONE_SOURCE, ".remoteURL"),
        ),
    },
)
JET_JOB_SNAPSHOT = Kind(
    "JetJobSnapshot",
    JetJobSnapshot,
    "jetjobsnapshots",
    ("jjs",),
    (
        Column("State", ".status.state", description="How far the snapshot is"),
        Column("CreationTime", ".status.creationTime"),
        Column("Message", ".status.message", wide=True),
    ),
    {
        "": (
            NAMED_BY_ITSELF,
            Rule(
                f"self.spec == oldSelf.spec || {_EXPORT} in {_words('', SnapshotState.WAITING)}",
                UNCHANGED,
                ".spec",
                forbidden=True,
            ),
        )
    },
)
KINDS = (HAZELCAST, MAP, JET_JOB, JET_JOB_SNAPSHOT)


def definitions() -> list[Document]:
    """Return the CustomResourceDefinitions of all our kinds."""
    return [kind.definition() for kind in KINDS]


def structural(schema: Document) -> Document:
    """Convert a JSON Schema to Kubernetes' form: each part inlined where it is used, of one type, without titles or nulls."""
    parts = schema.get("$defs", {})

    def inlined(node: Document) -> Document:
        result = {name: value for name, value in node.items() if name not in ("title", "$defs")}
        if "$ref" in result:
            part = inlined(parts[result.pop("$ref").removeprefix("#/$defs/")])
            result = part | {name: value for name, value in result.items() if name != "default"} | _default(result)
        if "anyOf" in result:
            (variant,) = (choice for choice in result.pop("anyOf") if choice.get("type") != "null")
            result = inlined(variant) | result
        if result.get("default", ...) is None:
            del result["default"]
        if "properties" in result:
            result["properties"] = {name: inlined(part) for name, part in result["properties"].items()}
        if "items" in result:
            result["items"] = inlined(result["items"])
        return result

    return inlined(schema)


def _default(schema: Document) -> Document:
    """Return the default of a part. A part with defaults inside gets an empty object, which Kubernetes fills."""
    if "default" not in schema or schema["default"] is None:
        return {}
    return {"default": {} if isinstance(schema["default"], dict) else schema["default"]}


def written() -> str:
    """Return all definitions as YAML, for ``kubectl apply``."""
    return _SOURCE + _yaml(definitions())


def template() -> str:
    """Return all definitions as a Helm template. Users can leave them out, and they stay when the release is removed."""
    documents = definitions()
    for each in documents:
        each["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    return f"{_SOURCE}{{{{- if .Values.crds.install }}}}\n{_yaml(documents)}{{{{- end }}}}\n"


_SOURCE = "# Written by `make pictures` from src/pitstop/operator/resources and crds.py.\n"


def _yaml(documents: list[Document]) -> str:
    import yaml

    return yaml.safe_dump_all(documents, sort_keys=False, width=120, allow_unicode=True)


if __name__ == "__main__":
    import sys

    print(template() if "--chart" in sys.argv else written(), end="")
