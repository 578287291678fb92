"""Requests that bring an artifact: JSON with a path or URL, or multipart with the file beside the JSON."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from pitstop.errors import UsageError
from pitstop.rest.models import ArtifactBody
from pitstop.rest.problems import first_fault
from pitstop.service import artifacts

MOST_BYTES = artifacts.MOST_BYTES + (1 << 20)
"""The largest request with an artifact: the file, and what is said of it."""
Body = TypeVar("Body", bound=ArtifactBody)


async def read(request: Request, model: type[Body]) -> tuple[Body, bytes | None]:
    """The JSON part, checked, and the bytes of the uploaded artifact if there is one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return _parse(model, await request.body()), None
    if kind != "multipart/form-data":
        raise UsageError(f"Send application/json or multipart/form-data, not '{kind}'.")
    async with request.form() as form:
        unknown = set(form) - {"request", "artifact"}
        text, file = form.get("request"), form.get("artifact")
        if unknown or text is None or isinstance(file, str):
            raise UsageError("The form has a part 'request' with the JSON and a file 'artifact', nothing else.")
        content = await text.read() if isinstance(text, UploadFile) else text
        return _parse(model, content), await file.read() if file is not None else None


def _parse(model: type[Body], content: str | bytes) -> Body:
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise first_fault(error) from None


def described(model: type[ArtifactBody]) -> dict[str, Any]:
    """Both forms of the request, for OpenAPI."""
    schema = model.model_json_schema()
    file = {"type": "string", "contentMediaType": "application/octet-stream", "description": "The .py, .zip, .whl or .sql file"}
    form = {"type": "object", "properties": {"request": schema, "artifact": file}, "required": ["request"]}
    content = {
        "application/json": {"schema": schema},
        "multipart/form-data": {"schema": form, "encoding": {"request": {"contentType": "application/json"}}},
    }
    return {"requestBody": {"required": True, "content": content}}
