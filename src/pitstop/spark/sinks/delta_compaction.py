"""Compaction of Delta tables by the sink that writes them: small files become large ones, in a commit without new rows."""

from __future__ import annotations

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError

from pitstop.outputs.delta_commits import WORDS, let_others_read
from pitstop.outputs.table_folders import TableFolder
from pitstop.pipeline.sink import Compaction
from pitstop.spark.sinks import EpochContext


def compact(folder: TableFolder, compaction: Compaction, context: EpochContext) -> None:
    """Merge the small files of a table. An error is a warning: the rows are in the table, and the next compaction may succeed.

    While a new version of the job is on trial nothing is merged: if the version fails, its files are taken out of the table.
    """
    run, stage = context.run, context.stage
    try:
        table = DeltaTable(**folder.delta)
        # The table is read first: files of a version that goes on trial after this question are not among those that are merged.
        with run.ownership.held() as update:
            if update is not None:
                return
        before = table.version()
        words = {"job": context.job, "stage": stage, "compacts": True}
        figures = table.optimize.compact(
            target_size=compaction.target_bytes,
            max_concurrent_tasks=1,
            commit_properties=CommitProperties(custom_metadata={WORDS: words}),
        )
        if folder.is_here:
            let_others_read(folder, before + 1, data_too=True)
    except (DeltaError, OSError) as error:
        sentence = str(error).partition("\n")[0]
        run.log("WARN", "pitstop.sink", f"Sink '{stage}': the small files of {folder} stay as they are: {sentence}")
        return
    if figures["numFilesRemoved"]:
        counts = f"{figures['numFilesRemoved']} files became {figures['numFilesAdded']}"
        run.log("INFO", "pitstop.sink", f"Sink '{stage}' compacted {folder}: {counts}")
