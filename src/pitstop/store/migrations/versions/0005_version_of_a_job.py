"""A job's record tells what the job is to run in one value, its version"""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

Body = dict[str, Any]

PARTS = ("source", "options", "config", "plan", "lineage")
UNSAID: Body = {"options": {}, "plan": None, "lineage": None}
"""The fields that a job's record may leave out."""


def upgrade() -> None:
    _rewrite(_with_version)


def downgrade() -> None:
    _rewrite(_flat)


def _rewrite(change: Callable[[Body], Body | None]) -> None:
    """Give jobs the body that ``change`` makes of theirs; None leaves a job as it is."""
    connection = op.get_bind()
    for job_id, body in connection.execute(sa.text("SELECT id, body FROM jobs")).all():
        job = _object(body)
        changed = change(job) if job is not None else None
        if changed is not None:
            values = {"body": json.dumps(changed), "id": job_id}
            connection.execute(sa.text("UPDATE jobs SET body = :body WHERE id = :id"), values)


def _object(body: Any) -> Body | None:
    """Return a body as an object; None if it is none, which the reader of that job will report."""
    try:
        value = json.loads(body) if isinstance(body, str) else body
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _with_version(body: Body) -> Body | None:
    number = body.get("version", 1)
    if not isinstance(number, int) or "source" not in body or "config" not in body:
        return None
    parts = {key: value for key, value in body.items() if key in PARTS}
    rest = {key: value for key, value in body.items() if key not in PARTS}
    return rest | {"version": {"number": number, **UNSAID, **parts}}


def _flat(body: Body) -> Body | None:
    version = body.get("version")
    if not isinstance(version, dict) or "number" not in version:
        return None
    parts = {key: value for key, value in version.items() if key != "number"}
    return body | parts | {"version": version["number"]}
