"""Catalogs of Iceberg tables, opened by PyIceberg with the properties that users give, in which secrets have names."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pitstop.errors import EngineError
from pitstop.machine.named_secrets import revealed, revealed_url
from pitstop.machine.private import usual_mode

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_NAME, _USUAL_NAME = "name", "default"
"""The property that names a catalog, and PyIceberg's own name for one without. A database can have several catalogs, by name."""
_RETRIES = "commit.retry.num-retries"
_catalogs: dict[tuple[tuple[str, str], ...], Catalog] = {}
_lock = threading.Lock()


def open_catalog(properties: Mapping[str, str]) -> Catalog:
    """Return the catalog with these properties; a process opens each once. UsageError if a secret is missing.

    EngineError if the catalog refuses, or is away.
    """
    from pyiceberg.catalog import load_catalog

    values = {name: revealed_url(value) if name == "uri" else revealed(value) for name, value in properties.items()}
    key = tuple(sorted(values.items()))
    with _lock:
        if key not in _catalogs:
            with errors_of_catalog(properties):
                _catalogs[key] = load_catalog(values.pop(_NAME, _USUAL_NAME), **values)
        return _catalogs[key]


def find_table(catalog: Catalog, name: str, *, with_history: bool = False) -> Table | None:
    """Return a table as it is now; None if there is none of that name.

    Without its history a table has the snapshots alone that branches and tags name. PyIceberg copies all that it has of a table
    many times in each commit.
    """
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        table = catalog.load_table(name)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None
    # By itself PyIceberg commits again on the newer table, without looking whether that has the epoch by now. The property is
    # that of this object alone: what a commit writes is told by its updates.
    table.metadata.properties[_RETRIES] = "0"
    if not with_history:
        table.metadata = without_history(table.metadata)
    return table


def without_history(metadata: TableMetadata) -> TableMetadata:
    """Return the facts of a table with the snapshots alone that branches and tags name."""
    named = {reference.snapshot_id for reference in metadata.refs.values()}
    snapshots = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id in named]
    no_logs: dict[str, list[object]] = {"snapshot_log": [], "metadata_log": [], "statistics": []}
    return metadata.model_copy(update={"snapshots": snapshots, **no_logs})


def catalog_words(properties: Mapping[str, str]) -> str:
    """Return the words for a catalog: its address without user and password, or what else tells it from others."""
    address = properties.get("uri") or properties.get("warehouse") or properties.get("type", "")
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.netloc:
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return address


@contextmanager
def errors_of_catalog(properties: Mapping[str, str]) -> Iterator[None]:
    """Turn what a catalog raises into an EngineError that names it; a catalog that is away may come back."""
    from pyiceberg import exceptions as wrong

    place = f"The Iceberg catalog {catalog_words(properties)}"
    try:
        yield
    except wrong.NotInstalledError as error:
        raise EngineError(f"{place} needs a package more where jobs run: {_line(error)}") from error
    except wrong.ForbiddenError as error:
        raise EngineError(f"{place} refuses: {_line(error)}. Check the rights of the user in catalog=.") from error
    except (wrong.UnauthorizedError, wrong.OAuthError, wrong.AuthorizationExpiredError) as error:
        # A token may have a new value by now: the next attempt looks it up.
        with _lock:
            _catalogs.clear()
        message = f"{place} refuses: {_line(error)}. Check the token or credentials in catalog=."
        raise EngineError(message, restartable=True) from error
    except (
        wrong.ServerError,
        wrong.ServiceUnavailableError,
        wrong.TooManyRequestsError,
        wrong.CommitStateUnknownException,
    ) as error:
        raise EngineError(f"{place} does not answer: {_line(error)}", restartable=True, passing=True) from error


def let_others_read(table: Table) -> None:
    """Give the files of a table's newest commit, if they are on this machine, the permissions that the user's own would have.

    All else of a run is its user's alone.
    """
    snapshot = table.metadata.current_snapshot()
    paths = [table.metadata_location]
    if snapshot is not None and _local(snapshot.manifest_list) is not None:
        own = [manifest for manifest in snapshot.manifests(table.io) if manifest.added_snapshot_id == snapshot.snapshot_id]
        paths += [snapshot.manifest_list, *(manifest.manifest_path for manifest in own)]
    for path in filter(None, map(_local, paths)):
        with suppress(FileNotFoundError, PermissionError):  # another user's
            path.chmod(usual_mode(0o666))
            path.parent.chmod(usual_mode(0o777))


@contextmanager
def readable_by_others() -> Iterator[None]:
    """Let files that this process makes have the permissions that the user's own would have: for processes of one thread."""
    before = os.umask(0o777 & ~usual_mode(0o777))
    try:
        yield
    finally:
        os.umask(before)


def _local(location: str) -> Path | None:
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") else None


def _line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
