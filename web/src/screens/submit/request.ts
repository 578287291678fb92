/** A job to submit, as a request and as a line for a terminal. */
import { type Command, operands } from "../../logic/commands";
import { artifactRequest, stemOf } from "../../parts/artifact";
import { type Draft, draftOptions, draftWords } from "../../parts/version/draft";

export type Submission = {
  draft: Draft;
  /** Empty: as the file is called. */
  name: string;
  /** The snapshot to start from; null: from nothing. */
  snapshot: string | null;
};

/** The request beside the file. */
export function submitBody({ draft, name, snapshot }: Submission): object {
  return {
    ...artifactRequest(draft.artifact),
    ...(name.trim() ? { name: name.trim() } : {}),
    ...(snapshot ? { initial_snapshot: snapshot } : {}),
    options: draftOptions(draft),
  };
}

/** The same as a line for a terminal. */
export function submitCommand(asked: Submission): Command {
  const { options, last } = draftWords(asked.draft);
  const name = asked.name.trim();
  const words = [...(asked.snapshot ? ["-s", asked.snapshot] : []), ...(name ? ["-n", name] : []), ...options];
  return {
    // What stands behind the artifact is its own in any case.
    cli: ["pitstop", "submit", ...words, ...operands(...last.slice(0, 1)), ...last.slice(1)],
    method: "POST",
    path: "/api/v1/jobs",
    body: submitBody(asked),
  };
}

/** The job of that name that has not ended and so keeps it; null if there is none. */
export function nameHolder<J extends { name: string | null; status: string }>(asked: Submission, jobs: J[]): J | null {
  const name = asked.name.trim() || stemOf(asked.draft.artifact);
  return jobs.find((job) => job.name === name && job.status !== "FAILED" && job.status !== "COMPLETED") ?? null;
}
