"""New stores in SQLite with the present schema: copies of one, because all migrations take longer than most tests."""

import tempfile
from functools import cache
from pathlib import Path

from pitstop.store.database import open_database, sqlite_url

SQLITE = sqlite_url(Path("/")).removesuffix("/")


@cache
def _content() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "new.db")
        open_database(sqlite_url(file)).close()
        return file.read_bytes()


def laid_down(url):
    """Lay a new store down at the URL, unless one is there or it is in PostgreSQL; return the URL."""
    if url.startswith(SQLITE):
        file = Path(url.removeprefix(SQLITE))
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(0o600)
            file.write_bytes(_content())
    return url
