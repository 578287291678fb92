"""The pages of the documentation on HTTP: docs/rest.md from the description of the API, docs/errors.md from the tree of errors.

``pitstop.main.reference`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.datastructures import Headers

from pitstop.cli.exits import exit_of
from pitstop.errors import PitstopError, all_errors
from pitstop.rest.access import Access

_REST_HEAD = """# REST endpoints

`python -m pitstop.main.reference docs` writes this page from the description of the API. A server gives that description, with
every parameter and every field of the answers, at `/openapi.json` (OpenAPI 3.1).

```
$ curl -s -H "Authorization: Bearer $(cat ~/.pitstop/token)" http://127.0.0.1:8701/api/v1/jobs
```

- Bodies and answers are JSON, unless the description says otherwise. Give the token as above; [The token](security.md#the-token)
  says where it is.
- An error is `application/problem+json` with a code: [Error codes](errors.md).
- The command line and the Python client use these endpoints, so all that they do, you can do.

The column `role` names the least that a request needs: `none` is everybody, and an operator may do everything that a viewer may.
A viewer's statements of SQL only read. Sign-in and roles are explained in [Security](security.md).
"""
_REST_TAIL = """
## Pages for browsers

These are not in the description: `/` is the [page](page.md), `/docs` is this documentation, and `/openapi.json` is the
description itself. None of them asks for a token; the page signs a browser in before it shows anything.
"""
_TITLES = {
    "jobs": "Jobs",
    "snapshots": "Snapshots",
    "maps": "Maps",
    "sql": "SQL",
    "cluster": "Server and cluster",
    "logging": "Log levels",
    "access": "Access",
}
"""Tag of the description -> heading, in the order of the page."""

_ERRORS_HEAD = """# Error codes

`python -m pitstop.main.reference docs` writes this page. Each error is one sentence for you, and a code for your program. The
sentence says what is wrong, where, and what to do. Programs go by the code: sentences may change.

| where | the error |
|---|---|
| command line | the sentence on standard error, and the [exit code](cli.md#exit-codes); `-v` adds the stack trace |
| REST | `application/problem+json` with `code`, `detail` (the sentence), `details` and `status` |
| Python | an exception of `pitstop.errors` with `code`, `message` and `details` |
| SQL, by PostgreSQL's protocol | an SQLSTATE; the sentence is its message: [SQL](sql.md) |

```
$ curl -s -H "Authorization: Bearer $(cat ~/.pitstop/token)" http://127.0.0.1:8701/api/v1/jobs/nojob
{"type":"urn:pitstop:not_found",…,"status":404,"detail":"No job with name or id 'nojob' was found","code":"NOT_FOUND",…}
```

A program tries again after `BUSY`, `STORE` and `UNREACHABLE`. After `TIMEOUT` it asks whether the thing has happened. The other
errors need a change: of the request, of the job, or of the machine.

| code | HTTP | exit code | meaning | what to do |
|---|---|---|---|---|
"""
_ERRORS_TAIL = """
The classes form a tree, so that `except ConflictError` catches `INCOMPATIBLE`, too:

```
{tree}
```

`details` holds facts for programs: an `INCOMPATIBLE` has the report with a line for each stage, and a failed run its stack trace.
"""
_UNKNOWN = "An error whose code this release does not know."
REMEDIES = {
    "ERROR": "Read the sentence. Client and server are of different releases: bring them to the same one.",
    "USAGE": "Correct the option, name, statement or field that the sentence names.",
    "PIPELINE": "Correct the job at the stage that the sentence names.",
    "ARTIFACT": "Correct the path, the entry (`-c module:function`), or the line of the file that the sentence names.",
    "NOT_FOUND": "Look at the names: `pitstop list-jobs -a`, `pitstop list-snapshots`, `pitstop map list`.",
    "CONFLICT": "Bring the job into a state that allows it: [The life of a job](job-life.md) has the table.",
    "INCOMPATIBLE": "Read the line of each stage in the report, and take a way of [Changes of a job](changes.md).",
    "DROPS_STATE": "If the state is to go, say so: `--allow-drop`. Otherwise keep or rename the stage.",
    "FENCED": "Nothing: the run that has taken over goes on. In a sink of your own, stop writing.",
    "OTHER_EPOCH": "The output is newer than the state, as after a copy of a data folder: [Backup](backup.md).",
    "DENIED": "Give the server's token: [The token](security.md#the-token).",
    "FORBIDDEN": "Use an operator's token; a viewer's reads only, and the token of metrics opens `/metrics` only.",
    "FOREIGN": "Call the server by its own name or address, or start it with `--host-name NAME`.",
    "TOO_LARGE": "Send less: an artifact holds code, and data belongs into files, maps or snapshots.",
    "BUSY": "Ask again when one of your requests of that kind has ended.",
    "UNREACHABLE": "Start the server, or correct `--url`. Jobs run on meanwhile.",
    "TIMEOUT": "Look at the job. What you asked for goes on by itself.",
    "SNAPSHOT": "Use another snapshot, or a [backup](backup.md). The sentence names the file that is missing or damaged.",
    "ENGINE": "Read the job's log (`pitstop logs JOB`) and `pitstop events JOB`, then [Debug a wrong result](debugging.md).",
    "VERSION": "The version before goes on. Correct the new one: the sentence has the cause.",
    "STORE": "Bring back the store or its disk. Pending work is done by itself then.",
}
"""Code -> what the reader does about it."""


def rest_page(description: dict[str, Any]) -> str:
    """Return docs/rest.md."""
    rows: dict[str, list[str]] = {tag: [] for tag in _TITLES}
    for path, item in description["paths"].items():
        for verb, operation in item.items():
            rows[operation["tags"][0]].append(_row(verb.upper(), path, operation))
    head = "| method | path | what it does | role |\n|---|---|---|---|\n"
    return _REST_HEAD + "".join(f"\n## {_TITLES[tag]}\n\n{head}{''.join(rows[tag])}" for tag in _TITLES) + _REST_TAIL


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    summary, text = operation["summary"], operation.get("description", "").partition("\n\n")[0]
    sentences = f"{summary}{'' if summary.endswith('?') else '.'} {cell(text)}".rstrip()
    return f"| {method} | `{path}` | {sentences} | {least_role(method, path)} |\n"


def least_role(method: str, path: str) -> str:
    """Return the least right with which the server lets a request in. The server's own gate is asked."""
    gate = Access("an-operator", frozenset({"server"}), viewer_token="a-viewer", metrics_token="of-metrics")
    tokens = {"none": None, "metrics": "of-metrics", "viewer": "a-viewer", "operator": "an-operator"}
    for role, token in tokens.items():
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        if gate.refusal(path, Headers({"host": "server", **bearer}), method) is None:
            return "metrics, viewer" if role == "metrics" else role
    raise ValueError(f"Nobody may ask {method} {path}.")


def errors_page() -> str:
    """Return docs/errors.md."""
    rows = "".join(_error_row(cls) for _, cls in _tree(PitstopError, 0))
    tree = "\n".join(f"{'    ' * depth}{cls.__name__} ({cls.code})" for depth, cls in _tree(PitstopError, 0))
    return _ERRORS_HEAD + rows + _ERRORS_TAIL.format(tree=tree)


def _tree(cls: type[PitstopError], depth: int) -> Iterable[tuple[int, type[PitstopError]]]:
    """Yield a class and those below it, with their depths; only those that an error may have as it travels."""
    yield depth, cls
    classes = all_errors()
    for below in cls.__subclasses__():
        if classes.get(below.code) is below:
            yield from _tree(below, depth + 1)


def _error_row(cls: type[PitstopError]) -> str:
    meaning = cell(_UNKNOWN if cls is PitstopError else cls.__doc__ or "")
    exit_code = int(exit_of(cls("")))
    return f"| `{cls.code}` | {cls.http_status} | {exit_code} | {meaning} | {REMEDIES[cls.code]} |\n"


def cell(text: str) -> str:
    """Return a text as a cell of a table. Bars would end the cell, and brackets would begin a link."""
    return "".join(f"\\{sign}" if sign in "|[]" else sign for sign in " ".join(text.split()))
