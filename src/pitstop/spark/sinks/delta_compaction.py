"""Compaction of Delta tables by the sink that writes them: small files become large ones, in a commit without new rows."""

from __future__ import annotations

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError

from pitstop.outputs.delta_commits import WORDS, let_others_read
from pitstop.outputs.table_folders import TableFolder
from pitstop.pipeline.sink import Compaction
from pitstop.spark.sinks import EpochContext


def compact(folder: TableFolder, compaction: Compaction, context: EpochContext) -> None:
    """Put the small files of a table together. What goes wrong is a warning: the rows are there, and the next time may succeed.

    Nothing is done while a new version of the job is on trial, for the files of a version that fails are taken out again.
    """
    run, stage = context.run, context.stage
    try:
        table = DeltaTable(**folder.delta)
        # A later run of the job has written none of the files that this one has read the names of, so none can be in its trial.
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
