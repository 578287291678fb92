"""The reasons for which rows go no further.

Each row that a source gives, or a stage takes, comes out, is in state, or is counted here.
"""

from __future__ import annotations

from enum import StrEnum


class LeftOut(StrEnum):
    """A reason. The value names the figure, of a stage or source, that counts such rows since the job was submitted."""

    UNPARSED = "unparsed_rows"
    AHEAD = "ahead_rows"
    UNTIMED = "untimed_rows"
    LATE = "late_rows"
    KEYLESS = "keyless_rows"
    LONG_KEY = "long_key_rows"
    OLDER = "older_rows"
    FAILED = "failed_rows"
    LOST = "lost_rows"
    REPEATED = "repeated_rows"
    TOMBSTONE = "tombstone_rows"

    @property
    def words(self) -> str:
        """Such rows in words, for people."""
        return _WORDS[self]

    @property
    def label(self) -> str:
        """The reason in a word, as metrics have it."""
        return self.value.removesuffix("_rows")


_WORDS = {
    LeftOut.UNPARSED: "not parsed",
    LeftOut.AHEAD: "too far ahead of the clock",
    LeftOut.UNTIMED: "without event time",
    LeftOut.LATE: "late",
    LeftOut.KEYLESS: "without key",
    LeftOut.LONG_KEY: "with too long a key",
    LeftOut.OLDER: "older than what their entry holds",
    LeftOut.FAILED: "that a function could not take",
    LeftOut.LOST: "lost before they were read",
    LeftOut.REPEATED: "repeated",
    LeftOut.TOMBSTONE: "that are tombstones",
}

BAD = (LeftOut.UNPARSED, LeftOut.AHEAD, LeftOut.FAILED)
"""The reasons whose rows the total of bad rows counts."""

WANTED = (LeftOut.REPEATED, LeftOut.TOMBSTONE)
"""The reasons that are no loss: repeated rows are left out as the user wants, and a tombstone follows a delete that is read."""
