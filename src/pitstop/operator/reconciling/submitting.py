"""The way of a JetJob's code to its cluster: fetched beside the workers, then submitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pitstop.errors import NotFoundError
from pitstop.operator import kinds
from pitstop.operator.artifacts import Code, code_of, entry_of, place_of
from pitstop.operator.connections import Connection
from pitstop.operator.jobs import SECRET_MISSING, SeenJob, job_id, options_of
from pitstop.operator.kube.api import Object
from pitstop.operator.reconciling.surroundings import Surroundings
from pitstop.operator.world import key_of
from pitstop.service.api import SubmitRequest

LARGE_BYTES = 16 << 20
"""The size from which on a file has memory of the operator for itself."""


def fetched(around: Surroundings, body: Object, view: SeenJob) -> Code | None:
    """Return the code of a JetJob; None while it is on its way: the JetJob is looked at again once it is there.

    NotFoundError if the Secret is missing, else the error that the fetching met.
    """
    codes, key, mark = around.slow.codes, key_of(kinds.JET_JOB, body), _mark(view)
    if not codes.has(key, mark):
        spec, credentials = view.resource.spec, _credentials(around, view)
        codes.begin(key, mark, place_of(spec), lambda: code_of(spec, credentials, around.files_from))
    return codes.outcome(key, mark)


@contextmanager
def room_for(around: Surroundings, code: Code) -> Iterator[bool]:
    """Yield True if the operator has the memory for the code; False while it has another large one there."""
    if code.size <= LARGE_BYTES:
        yield True
        return
    there_is = around.slow.large.acquire(blocking=False)
    try:
        yield there_is
    finally:
        if there_is:
            around.slow.large.release()


def submit(around: Surroundings, body: Object, view: SeenJob, code: Code, connection: Connection) -> None:
    """Submit the job, and forget its code, also if the cluster refuses it: another try reads it anew."""
    spec = view.resource.spec
    try:
        connection.service.submit(
            SubmitRequest(
                artifact_name=code.name,
                artifact_bytes=code.content,
                entry=entry_of(spec.main_class),
                args=tuple(spec.arguments or ()),
                options=options_of(spec),
                name=view.job_name,
                initial_snapshot=view.snapshot_name,
                id=job_id(view.uid),
            )
        )
    finally:
        around.slow.codes.forget(key_of(kinds.JET_JOB, body))
        code.file.close()


def _mark(view: SeenJob) -> str:
    return f"{view.uid} {view.generation}"


def _credentials(around: Surroundings, view: SeenJob) -> dict[str, str] | None:
    bucket = view.resource.spec.bucket_config
    if bucket is None or bucket.secret_name is None:
        return None
    credentials = around.secret(view.namespace, bucket.secret_name)
    if credentials is None:
        raise NotFoundError(SECRET_MISSING)
    return credentials
