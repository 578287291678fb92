/** Why a job is as it is, in words. */
import type { Job } from "../../../api/client";
import { exact } from "../../../logic/format";

export type Cause = {
  grave: boolean;
  title: string;
  /** Its first lines. */
  text: string;
  /** The rest, and stack traces. */
  details: string | null;
  /** When the state that `text` speaks of is removed: a sentence of its own behind it. */
  removedAt?: string;
};

const MOST_LINES = 3;
const MOST_SIGNS = 600;
/** An epoch that takes longer is worth a word. */
const LONG_SECONDS = 30;

/** All that a reader of this job should know of, the gravest first. */
export function causesOf(job: Job): Cause[] {
  const found: Cause[] = [];
  if (job.status === "FAILED" && job.user_cancelled) {
    found.push({ grave: false, title: "Cancelled by a user", details: job.failure_details, ...afterEnd(job) });
  } else if (job.status === "FAILED") {
    const cause = cut(job.failure ?? "It ended with an error that left no words.", job.failure_details);
    found.push({ grave: true, title: "Failed", ...cause });
    if (job.has_state) found.push({ grave: false, title: "Its state is kept", details: null, ...afterEnd(job) });
  }
  if (job.status.startsWith("SUSPENDED") && job.suspension_cause) {
    const failed = job.suspension_cause.startsWith("Execution failure");
    const text = job.suspension_cause.replace(/^Execution failure:\s*/, "");
    const title = failed ? "Suspended after an error" : "Suspended";
    found.push({ grave: failed, title, ...cut(text, job.failure_details) });
  }
  if (job.interruption) {
    found.push({
      grave: true,
      title: "The last run ended by itself; the job starts again",
      ...cut(job.interruption, null),
    });
  }
  if (job.update_failure) {
    const asked = job.update_failure.includes("rolled back on request");
    found.push({ grave: !asked, title: "The last update was taken back", ...cut(job.update_failure, null) });
  }
  if (job.status === "RUNNING") {
    for (const away of job.progress.tables_away) {
      const now = `So it is since ${exact(away.since)}: rows are joined with what was read at ${exact(away.read_at)}.`;
      found.push({
        grave: true,
        title: `The table of '${away.stage}' cannot be read`,
        ...cut(`${away.why}\n${now}`, null),
      });
    }
    for (const [source, folder] of Object.entries(job.progress.waits_for)) {
      const text = `Folder ${folder} does not exist yet. Its rows are read once it is there.`;
      found.push({ grave: false, title: `Source '${source}' waits for its folder`, text, details: null });
    }
  }
  if (job.status === "RUNNING" && job.progress.busy_seconds >= LONG_SECONDS) {
    const text = `The epoch that is under way has taken ${job.progress.busy_seconds} s so far.`;
    found.push({ grave: false, title: "A long epoch", text, details: null });
  }
  return found;
}

function afterEnd(job: Job): Pick<Cause, "text" | "removedAt"> {
  if (!job.has_state) return { text: "Its state is not kept: it cannot be brought back." };
  const text = "Resume brings it back where its last epoch ended.";
  return job.state_kept_until ? { text, removedAt: job.state_kept_until } : { text };
}

/** The first lines, and what follows them before the details that are there already. */
function cut(text: string, details: string | null): { text: string; details: string | null } {
  const lines = text.trim().split("\n");
  let first = lines.slice(0, MOST_LINES).join("\n");
  let more = lines.length > MOST_LINES;
  if (first.length > MOST_SIGNS) {
    first = `${first.slice(0, MOST_SIGNS)}…`;
    more = true;
  }
  return { text: first, details: more ? [text.trim(), details].filter(Boolean).join("\n\n") : details };
}
