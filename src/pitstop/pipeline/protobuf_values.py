"""Messages of Protobuf as values: their type, by name and file of descriptors, or as a class that protoc has made."""

from __future__ import annotations

import base64
import re
from typing import Any

from pitstop.errors import UsageError
from pitstop.machine.local_paths import local_path

_FULL_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_FILE_FIELD = b"\x0a"
"""The tag of a file in a FileDescriptorSet: field 1, with a length."""


def protobuf_options(message: Any, descriptor_file: str | None) -> dict[str, str]:
    """Return the options of a source that say of which type its values are. UsageError if they do not.

    ``message`` is the full name of a type in ``descriptor_file``, or a class that protoc has made for Python: the options then
    hold the descriptors themselves, so that machines that run the job need no file.
    """
    if isinstance(message, str):
        if not _FULL_NAME.fullmatch(message):
            raise UsageError(f"message is the full name of a message of Protobuf, such as shop.Order, and not {message!r}.")
        if descriptor_file is None:
            raise UsageError(
                f"Values of protobuf need the descriptors of {message}: give descriptor_file, which "
                "`protoc --include_imports --descriptor_set_out=FILE` writes, or give the class of the message as message."
            )
        local_path(str(descriptor_file), "The file of descriptors")
        return {"message": message, "descriptorFile": str(descriptor_file)}
    descriptor = getattr(message, "DESCRIPTOR", None)
    if descriptor is None or not hasattr(descriptor, "full_name") or not hasattr(descriptor.file, "serialized_pb"):
        raise UsageError(
            "Values of protobuf need the type of their message: give message, its full name such as 'shop.Order', or the class "
            "that protoc has made of it."
        )
    if descriptor_file is not None:
        raise UsageError("The class of a message has its descriptors: leave out descriptor_file.")
    descriptors = b"".join(_files(descriptor.file, {}).values())
    return {"message": str(descriptor.full_name), "descriptorSet": base64.b64encode(descriptors).decode()}


def _files(file: Any, files: dict[str, bytes]) -> dict[str, bytes]:
    """Add a file and those that it imports, as fields of a FileDescriptorSet, each behind the ones that it needs."""
    if file.name not in files:
        for imported in file.dependencies:
            _files(imported, files)
        content = bytes(file.serialized_pb)
        files[file.name] = _FILE_FIELD + _varint(len(content)) + content
    return files


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])
