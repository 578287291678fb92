"""An adoption in words."""

from __future__ import annotations

from pitstop.adoption.reading import OldEpoch
from pitstop.kit.clock import iso
from pitstop.kit.counts import counted
from pitstop.model.adoption import Adoption

_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def warnings_of(epoch: OldEpoch) -> list[str]:
    """Return the sentences about a checkpoint that whoever adopts it is to read."""
    warnings = []
    if epoch.unfinished is not None:
        warnings.append(
            f"Epoch {epoch.unfinished} was planned and not committed: it is left out, and the job reads its rows again. The old "
            f"sink may have some or all of what epoch {epoch.unfinished} wrote: remove that there, or these rows are there twice."
        )
    if epoch.metadata["conf"].get(_POLICY, "min") != "min":
        warnings.append(
            f"The query took the highest of its watermarks ({_POLICY}=max), and a job takes the lowest: windows may end later."
        )
    return warnings


def lines_of(adoption: Adoption) -> list[str]:
    """Return the lines that tell what becomes of each source and operator."""
    watermark = iso(adoption.watermark_ms / 1000) if adoption.watermark_ms else "none"
    lines = [
        f"Checkpoint {adoption.checkpoint} of Spark {adoption.spark}: epoch {adoption.epoch} is committed, watermark "
        f"{watermark}, {counted(adoption.partitions, 'partition')}"
    ]
    for source in adoption.sources:
        place = "there" if source.at is None else f"at {source.at}"
        target = f"source '{source.source}' goes on {place}" if source.source is not None else "had not begun, and begins"
        lines.append(f"  source {source.number} ({source.kind}, {source.place}): {target}")
    for operator in adoption.operators:
        rows = f", {counted(operator.rows, 'row')}" if operator.rows is not None else ""
        way = ", converted" if operator.converted else ""
        lines.append(f"  operator {operator.number} ({operator.what}): stage '{operator.stage}' takes over its state{way}{rows}")
    lines += [f"  stage '{name}' begins empty: the checkpoint has nothing of it" for name in adoption.begins_empty]
    lines += [f"  source '{name}' begins anew: the checkpoint has no place of it" for name in adoption.begins_anew]
    return lines
