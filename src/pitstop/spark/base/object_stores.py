"""Stores of S3 as settings of Hadoop's, and their errors as sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pyspark.sql import SparkSession

from pitstop.errors import PipelineError
from pitstop.machine.named_secrets import revealed
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.object_stores import STORE, S3Store, bucket_of, is_s3
from pitstop.pipeline.source import Source
from pitstop.pipeline.specs import SourceSpec
from pitstop.spark.internals.object_stores import BY_KEY, BY_TOKEN, OF_MACHINE, has_setting, provide_s3

_PROVIDERS = "aws.credentials.provider"
_PATIENCE = {
    # By themselves Hadoop and the SDK try for many minutes, and say nothing meanwhile: the restarts of a job tell why.
    "attempts.maximum": "2",
    "retry.limit": "2",
    "retry.throttle.limit": "2",
    "connection.establish.timeout": "15s",
    "connection.timeout": "20s",
    "connection.request.timeout": "60s",
}
_USUAL_REGION = "us-east-1"
"""The region for stores that are not Amazon's, most of which take any."""


def open_s3(spark: SparkSession, source: Source) -> None:
    """Let the session reach what a source reads, if that is in S3. UsageError if a secret is missing."""
    path = source.options["path"]
    if is_s3(path):
        store = S3Store.from_text(source.options.get(STORE, "{}"))
        bucket = bucket_of(path)
        provide_s3(spark, bucket, hadoop_settings_of(store, own_providers=has_setting(spark, f"fs.s3a.{_PROVIDERS}")))


def stages_of_bucket(nodes: Iterable[Node], bucket: str | None) -> tuple[str | None, str]:
    """Return a bucket, and the stages that read it as the beginning of a sentence; empty if none of these does.

    If nobody knows which bucket it is, and all stages that read S3 read one, it is that.
    """
    readers = {node: bucket_of(str(node.source.options["path"])) for node in nodes if _reads_s3(node)}
    if bucket is None and len(set(readers.values())) == 1:
        bucket = next(iter(readers.values()))
    stages = [f"'{node.name}' ({node.location})" for node, each in readers.items() if each == bucket]
    return bucket, f"stage {' or '.join(stages)}: " if stages else ""


def check_one_store_each(nodes: Iterable[Node]) -> None:
    """Raise PipelineError if two sources reach one bucket in different ways: Hadoop has one way for each bucket of a session."""
    first: dict[str, Node] = {}
    for node in filter(_reads_s3, nodes):
        bucket = bucket_of(node.source.options["path"])
        other = first.setdefault(bucket, node)
        if other.source.options.get(STORE) != node.source.options.get(STORE):
            raise PipelineError(
                f"Sources '{other.name}' ({other.location}) and '{node.name}' ({node.location}) reach bucket '{bucket}' in "
                "different ways: give both the same store=, or read one of them in a job of its own."
            )


def _reads_s3(node: Node) -> bool:
    return isinstance(node.spec, SourceSpec) and is_s3(str(node.source.options.get("path", "")))


def hadoop_settings_of(store: S3Store, own_providers: bool = False) -> dict[str, str]:
    """Return the settings of a bucket, without the beginning of their names. UsageError if a secret is missing.

    ``own_providers``: whoever runs Spark has said where credentials come from if a job gives none.
    """
    keys = {
        "access.key": store.access_key,
        "secret.key": store.secret_key,
        "session.token": store.session_token,
    }
    settings = _PATIENCE | {name: revealed(value) for name, value in keys.items() if value is not None}
    if store.access_key is not None:
        settings[_PROVIDERS] = BY_KEY if store.session_token is None else BY_TOKEN
    elif not own_providers:
        settings[_PROVIDERS] = f"{BY_TOKEN},{BY_KEY},{OF_MACHINE}"
    if store.endpoint is not None:
        settings["endpoint"] = store.endpoint
    if store.region is not None or store.endpoint is not None:
        settings["endpoint.region"] = store.region or _USUAL_REGION
    path_style = store.path_style if store.path_style is not None else store.endpoint is not None
    if path_style or store.path_style is not None:
        settings["path.style.access"] = str(path_style).lower()
    way = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()
    return settings | {"pitstop.store": way}
