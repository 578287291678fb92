"""Jobs and updates that earlier releases have begun may drop state as before: those releases asked nobody"""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

Body = dict[str, Any]
ALL = ["*"]


def upgrade() -> None:
    _rewrite("jobs", "id", "body", lambda body: _in_job(body, _allow))
    _rewrite("operations", "id", "args", _allow_update, "WHERE verb = 'update' AND finished IS NULL")


def downgrade() -> None:
    _rewrite("jobs", "id", "body", lambda body: _in_job(body, _forget))
    _rewrite("operations", "id", "args", _forget, "WHERE verb = 'update'")


def _rewrite(table: str, key: str, column: str, change: Callable[[Body], Body], where: str = "") -> None:
    connection = op.get_bind()
    for number, text in connection.execute(sa.text(f"SELECT {key}, {column} FROM {table} {where}")).all():
        body = _object(text)
        if body is None:
            continue
        changed = change(body)
        if changed != body:
            values = {"body": json.dumps(changed), "key": number}
            connection.execute(sa.text(f"UPDATE {table} SET {column} = :body WHERE {key} = :key"), values)


def _object(text: Any) -> Body | None:
    """Return a body as an object; None if it is none, which the reader of that row will report."""
    try:
        body = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _in_job(body: Body, change: Callable[[Body], Body]) -> Body:
    """Return a job with ``change`` made to each version that it runs, and may go on or back to."""
    changed = dict(body)
    if isinstance(body.get("version"), dict):
        changed["version"] = change(body["version"])
    update = body.get("update")
    if isinstance(update, dict) and isinstance(update.get("phase"), dict):
        changed["update"] = update | {"phase": _in_phase(update["phase"], change)}
    return changed


def _in_phase(phase: Body, change: Callable[[Body], Body]) -> Body:
    changed = {part: change(phase[part]) for part in ("target", "previous") if isinstance(phase.get(part), dict)}
    before = phase.get("before")
    return phase | changed | ({"before": _in_phase(before, change)} if isinstance(before, dict) else {})


def _allow(version: Body) -> Body:
    """Allow drops for a version that may still take over a snapshot: its options name one, or its code may."""
    options, config = version.get("options"), version.get("config")
    if not isinstance(options, dict) or not isinstance(config, dict):
        return version
    unread = version.get("plan") is None and version.get("lineage") is None
    if not (options.get("initial_snapshot") or config.get("initial_snapshot") or unread):
        return version
    return version | {"options": options | {"allow_drop": ALL}, "config": config | {"allow_drop": ALL}}


def _allow_update(request: Body) -> Body:
    options = request.get("options")
    return request | {"options": options | {"allow_drop": ALL}} if isinstance(options, dict) else request


def _forget(holder: Body) -> Body:
    """Remove the option ``allow_drop``, which older releases do not know."""
    return holder | {
        part: {name: value for name, value in holder[part].items() if name != "allow_drop"}
        for part in ("options", "config")
        if isinstance(holder.get(part), dict)
    }
