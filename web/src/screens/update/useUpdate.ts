import { useMutationState } from "@tanstack/react-query";
import { type Job, upload } from "../../api/client";
import { type Command, pathTo } from "../../logic/commands";
import { artifactFile, artifactRequest } from "../../parts/artifact";
import type { AnyReport } from "../../parts/report";
import { useAction } from "../../parts/useAction";
import { type Draft, draftOptions, draftWords } from "../../parts/version/draft";

export type UpdateAsked = {
  draft: Draft;
  /** Name of the snapshot to take; empty: the usual one. */
  snapshot: string;
  watchSeconds: number;
  /** Number of the job's last event before. */
  after: number;
};
export type Updated = { version: number; snapshot: string; gap_seconds: number | null; report: AnyReport };
export type UpdateRequest = {
  status: "idle" | "pending" | "success" | "error";
  error: unknown;
  data: Updated | undefined;
  variables: UpdateAsked | undefined;
};

/** Asks for an update. The request goes on while other screens are looked at, and is found again when the reader is back. */
export function useUpdate(job: Job) {
  const mutationKey = ["update", job.id];
  const mutation = useAction({
    mutationKey,
    mutationFn: (asked: UpdateAsked) =>
      upload<Updated>(pathTo("jobs", job.id, "update"), updateBody(asked), artifactFile(asked.draft.artifact)),
  });
  const requests = useMutationState({ filters: { mutationKey }, select: (found) => found.state as UpdateRequest });
  return { ask: mutation.mutate, request: requests.at(-1) ?? null };
}

/** The same as a line for a terminal. */
export function updateCommand(job: Job, asked: Omit<UpdateAsked, "after">): Command {
  const { options, last } = draftWords(asked.draft);
  const snapshot = asked.snapshot ? ["-s", asked.snapshot] : [];
  const watch = asked.watchSeconds ? ["--watch", String(asked.watchSeconds)] : [];
  return {
    cli: ["pitstop", "update", ...snapshot, ...watch, ...options, job.name ?? job.id, ...last],
    method: "POST",
    path: pathTo("jobs", job.name ?? job.id, "update"),
    body: updateBody(asked),
  };
}

function updateBody({ draft, snapshot, watchSeconds }: Omit<UpdateAsked, "after">): object {
  return {
    ...artifactRequest(draft.artifact),
    ...(snapshot ? { snapshot } : {}),
    ...(watchSeconds ? { watch_seconds: watchSeconds } : {}),
    options: draftOptions(draft),
  };
}
