"""Errors as application/problem+json (RFC 9457), with our code, message and details."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from pitstop.errors import DeniedError, EngineError, NotFoundError, PitstopError, UnreachableError, UsageError
from pitstop.rest.models import Problem

MEDIA_TYPE = "application/problem+json"
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "The request is wrong, unknown or not allowed now"},
    "5XX": {"model": Problem, "description": "The server could not do it"},
}


def add_to(app: FastAPI) -> None:
    """Make every error of the application a problem, those of the framework included."""
    app.add_exception_handler(PitstopError, _pitstop)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unexpected)


def first_fault(error: ValidationError | RequestValidationError) -> UsageError:
    """Return the first fault of a request, as one sentence."""
    fault = error.errors()[0]
    if fault["type"] == "json_invalid":
        return UsageError(f"The body of the request cannot be read as JSON: {fault['ctx']['error']}.")
    where = ".".join(str(part) for part in fault["loc"] if part not in ("query", "body", "path"))
    return UsageError(f"The request is wrong at {where or 'its body'}: {fault['msg']}.")


def _pitstop(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PitstopError)
    return answer(error)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return answer(first_fault(error))


def _framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    request_line = f"{request.method} {request.url.path}"
    if error.status_code == 404:
        problem: PitstopError = NotFoundError(f"There is nothing at {request_line}: see /openapi.json for the routes.")
    elif error.status_code == 405:
        problem = UsageError(f"{request_line} is not possible: see /openapi.json for the methods.")
    else:
        problem = UsageError(f"{request_line} is wrong: {error.detail}")
    return _answer(problem, error.status_code, dict(error.headers or {}))


def _gone(request: Request, error: Exception) -> JSONResponse:
    # Nobody reads it; but to hang up in the middle of a request is no failure of the server, either.
    return answer(UnreachableError("The client has gone."))


def _unexpected(request: Request, error: Exception) -> JSONResponse:
    # The server's log gets the stack trace; the client gets what it can report.
    problem = EngineError(f"The server failed on {request.method} {request.url.path}: {type(error).__name__}: {error}")
    return answer(problem)


def answer(error: PitstopError, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the response that tells of an error."""
    more = {"WWW-Authenticate": "Bearer"} if error.http_status == DeniedError.http_status else {}
    return _answer(error, error.http_status, more | (headers or {}))


def _answer(error: PitstopError, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    body = {
        "type": f"urn:pitstop:{error.code.lower()}",
        "title": type(error).__name__.removesuffix("Error"),
        "status": status,
        "detail": error.message,
        **error.to_dict(),
    }
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)
