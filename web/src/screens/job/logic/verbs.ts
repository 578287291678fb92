/** What may be asked of a job, by its state. */
import type { Job } from "../../../api/client";

export const VERBS = [
  "suspend",
  "resume",
  "restart",
  "cancel",
  "export",
  "cancel_and_export",
  "update",
  "configure",
  "discard",
  "rollback",
] as const;
export type VerbName = (typeof VERBS)[number];

/** What the server says of a verb: why it refuses it now, or that it would change nothing. */
export type VerbNow = { verb: VerbName; refused: string | null; nothing_to_do: boolean };

type Facts = Pick<Job, "status" | "termination" | "updating" | "has_state">;

/** What may be asked for, as far as a job's state alone tells it. The server has the last word. */
export function verbsByState(job: Facts): VerbNow[] {
  return VERBS.map((verb) => {
    const nothing = NOTHING[verb]?.includes(job.status) ?? false;
    return { verb, refused: nothing ? null : refusal(verb, job), nothing_to_do: nothing };
  });
}

/** Why each verb is refused, or would change nothing, in words; null if it may be asked for. */
export function refusalsOf(known: (Omit<VerbNow, "verb"> & { verb: string })[]): Record<VerbName, string | null> {
  const refusal = (verb: VerbName): string | null => {
    const found = known.find((each) => each.verb === verb);
    if (!found) return null;
    return found.refused ?? (found.nothing_to_do ? NOTHING_TO_DO[verb] : null);
  };
  return Object.fromEntries(VERBS.map((verb) => [verb, refusal(verb)])) as Record<VerbName, string | null>;
}

const NOTHING_TO_DO: Record<VerbName, string> = {
  suspend: "The job is suspended already.",
  resume: "There is nothing to resume: the job is not suspended.",
  restart: "The job is being started already.",
  cancel: "The job has ended already.",
  export: "There is nothing to save.",
  cancel_and_export: "There is nothing to save.",
  update: "There is nothing to update.",
  configure: "There is nothing to change.",
  discard: "The job keeps no state that could be discarded.",
  rollback: "There is no update to go back from.",
};

const NOTHING: Partial<Record<VerbName, Job["status"][]>> = {
  suspend: ["SUSPENDED"],
  resume: ["NOT_RUNNING", "STARTING", "RUNNING"],
};

function refusal(verb: VerbName, job: Facts): string | null {
  if (job.termination) return `${modeWords(job.termination)} Ask again when that is done.`;
  if (verb === "rollback") return job.updating ? null : "There is no update to go back from.";
  if (job.status === "COMPLETED") return "The job has ended normally.";
  if (job.status === "FAILED") return afterTheEnd(verb, job);
  if (verb === "discard") return "The job has not ended: cancel it first.";
  if (verb === "cancel") return null;
  if (job.status === "SUSPENDED") return verb === "restart" ? "The job is suspended: resume it." : null;
  if (verb === "configure") return "Options are changed while the job is suspended: suspend it first.";
  return job.status === "RUNNING" || verb === "suspend" ? null : `The job is ${job.status}: wait until it runs.`;
}

function afterTheEnd(verb: VerbName, job: Facts): string | null {
  if (!["resume", "export", "update", "discard"].includes(verb)) return "The job has ended.";
  return job.has_state ? null : "The job has ended, and its state is not kept.";
}

const MODES: Record<string, string> = {
  SUSPEND: "Suspending…",
  RESTART: "Restarting…",
  EXPORT: "Exporting a snapshot…",
  CANCEL_AND_EXPORT: "Exporting a snapshot, then cancelling…",
  UPDATE: "Stopping the old version for an update…",
};

/** What a job is being stopped for: the server writes `MODE#operation`. */
export function modeWords(termination: string): string {
  const mode = termination.split("#")[0] ?? "";
  return MODES[mode] ?? `${mode}…`;
}
