"""The folder that a session's Java, and PySpark, use instead of ``/tmp`` for unpacked libraries and sockets."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pitstop.errors import EngineError

PREFIX = "pitstop-java-"
"""The prefix of the names of these folders."""
MOST_BYTES = 107 - len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
"""The longest path of such a folder, in bytes: that of a socket in it has 107 at most."""
_USUAL = (Path("/tmp"), Path("/var/tmp"))


def places() -> Iterator[Path]:
    """Yield folders in which such a folder may lie, the best first. The data folder is not among them: its path may be long."""
    for place in dict.fromkeys((Path(tempfile.gettempdir()), *_USUAL)):
        text = str(place / f"{PREFIX}12345678")
        # Java's options are told apart by blanks, and quotes hold them together.
        plain = text.isascii() and not set(text) & set(" \t\n\"'\\")
        if plain and len(text) <= MOST_BYTES and place.is_absolute() and os.access(place, os.W_OK | os.X_OK):
            yield place


def temporary_folder() -> Path:
    """Make a folder that belongs to this user alone. It goes as this process ends."""
    for place in places():
        try:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    raise EngineError(
        "No folder for Spark's sockets: set TMPDIR to a folder that can be written to, with a short path and no blanks."
    )
