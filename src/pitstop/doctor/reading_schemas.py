"""Reads the schemas of an operator's state: a file in partition 0 of each store, or those that its metadata name."""

from __future__ import annotations

import dataclasses
import os
import re

from pitstop.doctor.examination import Examination
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.flaws import Flaw
from pitstop.doctor.logs import FutureError, UnreadableError
from pitstop.doctor.schemas import ColumnFamily, OperatorMetadata, StateSchema, state_schema
from pitstop.doctor.stores import DEFAULT

_ADVICE = "Restore the file from a copy of the checkpoint."


def read_families(
    examination: Examination, operator: int, metadata: OperatorMetadata | None, stores: list[str]
) -> tuple[tuple[ColumnFamily, ...], int | None]:
    """Return the column families of an operator, and the format of its schema files; nothing of files that cannot be read."""
    paths = [path for store in metadata.stores for path in store.schema_paths] if metadata is not None else []
    if paths:
        _foreign(examination, operator, paths)
        names = [_below(path, operator) for path in paths]
        for name in names[:-1]:
            _read(examination, operator, name, True)
        schema = _read(examination, operator, names[-1], True)
        return (schema.families, schema.format) if schema is not None else ((), None)
    families: list[ColumnFamily] = []
    form = None
    for store in stores or [DEFAULT]:
        folder = f"state/{operator}/0" if store == DEFAULT else f"state/{operator}/0/{store}"
        name = f"{folder}/_metadata/schema"
        schema = _read(examination, operator, name, False) if examination.tree.names(folder) else None
        if schema is not None:
            form = schema.format
            families += [dataclasses.replace(family, name=store) if store != DEFAULT else family for family in schema.families]
    return tuple(families), form


def _read(examination: Examination, operator: int, name: str, is_named: bool) -> StateSchema | None:
    """Return a schema. ``is_named``: the operator's metadata name the file, and Spark does not start without it."""
    try:
        return examination.inspector.parsed(name, state_schema)
    except FutureError as error:
        examination.find(
            Code.LATER_FORMAT, Severity.DAMAGE, f"File {name} cannot be read: {error.detail}.", [name], operator=operator
        )
    except UnreadableError as error:
        if error.flaw is Flaw.MISSING and not is_named:
            examination.find(
                Code.SCHEMA_MISSING,
                Severity.WARNING,
                f"File {name} {error}. Spark writes it again from the next query that starts, so it cannot check whether "
                "that query fits the state.",
                [name],
                operator=operator,
                advice=_ADVICE,
            )
        else:
            examination.find(
                Code.SCHEMA_MISSING if error.flaw is Flaw.MISSING else Code.SCHEMA_UNREADABLE,
                Severity.DAMAGE,
                f"File {name} {error}. Spark compares it with the query at each start.",
                [name],
                operator=operator,
                advice=_ADVICE,
            )
    return None


def _below(path: str, operator: int) -> str:
    """Return a path below some checkpoint as a name below this one."""
    _, separator, name = path.rpartition(f"/state/{operator}/")
    return f"state/{operator}/{name}" if separator else path


def _foreign(examination: Examination, operator: int, paths: list[str]) -> None:
    """Find paths that lead out of this folder: the checkpoint was moved, or is a copy."""
    roots = {path.rpartition(f"/state/{operator}/")[0] or "/" for path in paths}
    here = _plain(examination.tree.address)
    foreign = sorted(root for root in roots if _plain(root) != here)
    if foreign:
        examination.find(
            Code.FOREIGN_PATHS,
            Severity.WARNING,
            f"The metadata of operator {operator} name schemas by their path in {foreign[0]}, which is not this folder: the "
            "checkpoint was moved or copied. Spark looks for the schemas there, and does not start if they are missing.",
            [f"state/{operator}/_metadata/v2"],
            operator=operator,
            advice="Move the checkpoint back to that path, or write the new path into these files.",
        )


def _plain(address: str) -> str:
    """Return an address that can be compared: of a folder of this machine absolute, without links and dots."""
    if "://" in address and not address.startswith("file:"):
        return re.sub(r"^s3[an]:", "s3:", address).rstrip("/")
    path = re.sub(r"^file:/*(?=/)", "", address)
    return path if "\x00" in path else os.path.realpath(path)
