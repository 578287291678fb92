"""A job's record tells the mode of its termination and the phase of its update, each by a value of its own"""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

Body = dict[str, Any]


def upgrade() -> None:
    _rewrite(lambda body: body | {"termination": _termination(body), "update": _update(body), "preparation": None})


def downgrade() -> None:
    def older(body: Body) -> Body:
        rest = {key: value for key, value in body.items() if key != "preparation"}
        return rest | {"termination": _mode_and_number(body["termination"]), "update": _flat(body["update"])}

    _rewrite(older)


def _rewrite(change: Callable[[Body], Body]) -> None:
    connection = op.get_bind()
    for job_id, body in connection.execute(sa.text("SELECT id, body FROM jobs")).all():
        job = json.loads(body) if isinstance(body, str) else body
        values = {"body": json.dumps(change(job)), "id": job_id}
        connection.execute(sa.text("UPDATE jobs SET body = :body WHERE id = :id"), values)


def _termination(body: Body) -> Body | None:
    mode, _, operation = (body.get("termination") or "").partition("#")
    return {"mode": mode, "operation": int(operation)} if mode else None


def _update(body: Body) -> Body | None:
    old = body.get("update")
    if not old or not (old["target"] or old["previous"]):
        return None
    starting = {"kind": "starting", "previous": old["previous"], "stopped_at": old["stopped_at"], "standby": old["standby"]}
    if old["target"]:
        before = starting | {"standby": None} if old["previous"] else None
        phase = {"kind": "asked", "target": old["target"], "standby": old["standby"], "before": before}
    elif old["started_at"] is None:
        phase = starting
    else:
        phase = {"kind": "watched", "previous": old["previous"], "started_at": old["started_at"]}
    return {"operation": old["operation"], "watch_seconds": old["watch_seconds"], "phase": phase, "report": None}


def _mode_and_number(termination: Body | None) -> str | None:
    return f"{termination['mode']}#{termination['operation']}" if termination else None


def _flat(update: Body | None) -> Body | None:
    if not update:
        return None
    phase = update["phase"]
    before = phase.get("before") or phase
    return {
        "operation": update["operation"],
        "watch_seconds": update["watch_seconds"],
        "target": phase.get("target"),
        "previous": before.get("previous"),
        "stopped_at": before.get("stopped_at") or 0.0,
        "started_at": phase.get("started_at"),
        "standby": phase.get("standby"),
    }
