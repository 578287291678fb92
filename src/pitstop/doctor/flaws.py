"""Flaws of a file's bytes: a file that is empty, cut, of another form, or not what its checksum says."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from enum import StrEnum

from pitstop.doctor.numbers import whole

SST_END = bytes.fromhex("f7cff485b741e288")
"""The last bytes of each block-based table of RocksDB."""
_LZ4, _LZ4_HEADER = b"LZ4Block", 21
_MAGICS = {"zstd": b"\x28\xb5\x2f\xfd", "snappy": b"\x82SNAPPY\x00", "lzf": b"ZV"}
_HADOOP = b"crc\x00"
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    LookupError,
    RuntimeError,
)
"""Errors with which zipfile ends on damaged bytes; RuntimeError is an encrypted entry or an unknown method, too."""
_SLOW_BYTES = 1 << 20
"""The largest file whose CRC32C is computed, in plain Python."""


class Flaw(StrEnum):
    """Ways in which a file is no longer what Spark wrote."""

    MISSING = "is missing"
    EMPTY = "is empty"
    CUT = "is cut off"
    GARBAGE = "does not hold what its name says"
    CHECKSUM = "is not what its checksum says"
    UNREADABLE = "cannot be read"


def stream_flaw(content: bytes, codec: str = "lz4") -> Flaw | None:
    """Return the flaw of a compressed file of state: a changelog, a delta or a snapshot in one file.

    Of lz4, Spark's usual codec, every block is walked through; of others the first bytes are looked at.
    """
    if not content:
        return Flaw.EMPTY
    if codec != "lz4":
        magic = _MAGICS.get(codec, b"")
        return None if content.startswith(magic) else Flaw.CUT if magic.startswith(content) else Flaw.GARBAGE
    place = 0
    while place + _LZ4_HEADER <= len(content):
        if content[place : place + 8] != _LZ4:
            return Flaw.GARBAGE
        packed = int.from_bytes(content[place + 9 : place + 13], "little")
        plain = int.from_bytes(content[place + 13 : place + 17], "little")
        place += _LZ4_HEADER + packed
        if plain == 0:
            return None if place == len(content) else Flaw.GARBAGE
    start = content[min(place, len(content)) :][:8]
    return Flaw.CUT if place > len(content) or _LZ4.startswith(start) or start.startswith(_LZ4) else Flaw.GARBAGE


def zip_flaw(content: bytes) -> Flaw | None:
    """Return the flaw of a zip file; the checksums of its entries are computed."""
    if not content:
        return Flaw.EMPTY
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            return None if packed.testzip() is None else Flaw.CHECKSUM
    except ZIP_ERRORS:
        return Flaw.CUT if content.startswith(b"PK\x03\x04") else Flaw.GARBAGE


def hadoop_flaw(content: bytes, sums: bytes) -> Flaw | None:
    """Return the flaw of a file beside which Hadoop wrote ``sums``, the hidden ``.<name>.crc``.

    Sums with another beginning are left alone, as Hadoop does.
    """
    if len(sums) < 8 or not sums.startswith(_HADOOP):
        return None
    step = int.from_bytes(sums[4:8], "big")
    chunks = -(-len(content) // step) if step > 0 else 0
    if step <= 0 or len(sums) != 8 + 4 * chunks:
        return Flaw.CHECKSUM
    view = memoryview(content)
    crc32 = zlib.crc32
    expected = b"".join(crc32(view[start : start + step]).to_bytes(4, "big") for start in range(0, len(content), step))
    return None if expected == sums[8:] else Flaw.CHECKSUM


def spark_flaw(content: bytes, note: bytes) -> Flaw | None:
    """Return the flaw of a file beside which Spark 4.1 and later wrote ``note``, the file ``<name>.crc`` as JSON."""
    try:
        facts = json.loads(note)
        size, value, algorithm = whole(facts["mainFileSize"]), whole(facts["value"]), facts["algorithm"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if size != len(content):
        return Flaw.CUT if len(content) < size else Flaw.CHECKSUM
    if algorithm != "CRC32C" or size > _SLOW_BYTES:
        return None
    return None if crc32c(content) == value & 0xFFFFFFFF else Flaw.CHECKSUM


def note_flaw(note: bytes) -> Flaw | None:
    """Return the flaw of such a note itself."""
    if not note:
        return Flaw.EMPTY
    try:
        facts = json.loads(note)
        whole(facts["mainFileSize"]), whole(facts["value"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Flaw.CUT if note.startswith(b"{") else Flaw.GARBAGE
    return None


def crc32c(content: bytes) -> int:
    """Return the CRC-32 with Castagnoli's polynomial, unsigned."""
    table, crc = _TABLE, 0xFFFFFFFF
    for byte in content:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _castagnoli(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    return number


_TABLE = [_castagnoli(number) for number in range(256)]
