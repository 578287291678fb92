"""``@migrate`` and ``@migrate_offset``: users' functions that turn saved state, and places of sources, into another form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Migration:
    """A function from the rows of a stage's old state to those of its new one, as ``pitstop snapshot query`` shows them."""

    stage: str
    function: Callable[[Any], Any]

    def __call__(self, rows: Any) -> Any:
        return self.function(rows)

    @property
    def name(self) -> str:
        """The name of the migration in messages and plans."""
        return getattr(self.function, "__name__", "function")


def migrate(stage: str) -> Callable[[Callable[[Any], Any]], Migration]:
    """Mark ``function(DataFrame) -> DataFrame`` as the one that turns saved state of ``stage`` into its present form.

    It is used when saved state of the stage has another form than the new version's, in place of every rule of conversion;
    once the state has the new form it is not used any more, and may be removed. Where the version that saved the state had
    one of the same name, it is used only for what no rule can convert. Columns in and out are those of
    ``pitstop snapshot query NAME STAGE "SELECT * FROM state"``: the keys; ``window_start`` and ``window_end`` of a window;
    ``part`` (``frame`` or ``window``) of a sliding one; the accumulators, named as their aggregate, or
    ``<aggregate>__<i>`` where it has several; ``last_event`` of a key's own state. What would have a name that is taken is called
    ``state_<name>``. It stands beside the job in the artifact::

        @ps.migrate("speed")
        def by_region(old):
            return old.groupBy(F.substring("vin", 1, 3).alias("region"), "window_start", "window_end").agg(F.sum("n").alias("n"))
    """

    def mark(function: Callable[[Any], Any]) -> Migration:
        return Migration(stage, function)

    return mark


@dataclass(frozen=True)
class OffsetMigration:
    """A function from the offset of another source, as JSON text, to the offset at which a source of the job goes on."""

    source: str
    function: Callable[[str], Any]

    def __call__(self, offset: str) -> Any:
        return self.function(offset)

    @property
    def name(self) -> str:
        """The name of the function in messages."""
        return getattr(self.function, "__name__", "function")


def migrate_offset(source: str) -> Callable[[Callable[[str], Any]], OffsetMigration]:
    """Mark ``function(text) -> offset`` as the one that tells where ``source`` goes on in the place of a source of plain Spark.

    ``pitstop adopt`` calls it with the offset in the checkpoint, the JSON text that Spark keeps. For a source of files, that has
    the field ``files`` beside it: the URLs of all files that were read. The function returns the offset in the form of the new
    source's own reader, as a JSON value or JSON text; for ``ps.sources.kafka``, ``{"topic": {"0": 123}}``. Nothing else uses it,
    so you may remove it once the job has started. It stands beside the job in the artifact::

        @ps.migrate_offset("orders")
        def by_row(old):
            return {"row": json.loads(old)["page"] * 100}
    """

    def mark(function: Callable[[str], Any]) -> OffsetMigration:
        return OffsetMigration(source, function)

    return mark
