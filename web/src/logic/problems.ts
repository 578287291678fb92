/** Which jobs need somebody, the worst first, and why, in words. */
import type { Job } from "../api/client";

export type Trouble = {
  job: Job;
  severity: "failed" | "suspended" | "restarting" | "update" | "stuck" | "table";
  cause: string;
};

const ORDER: Trouble["severity"][] = ["failed", "suspended", "stuck", "restarting", "table", "update"];
/** A failure is news for so long; what failed earlier is in the list of jobs. */
export const NEWS_MS = 24 * 60 * 60 * 1000;
const STUCK_SECONDS = 60;

/** The troubles of these jobs. What a user has asked for, a cancelled or suspended job, is none. Nor is a failure that somebody
 * has seen to: a later job has its name. */
export function troubles(jobs: Job[], now: number): Trouble[] {
  const found: Trouble[] = [];
  const newest = new Map<string, number>();
  for (const { name, submission_time } of jobs) {
    if (name !== null) newest.set(name, Math.max(newest.get(name) ?? 0, Date.parse(submission_time)));
  }
  for (const job of jobs) {
    const trouble = troubleOf(job, now);
    const seenTo = job.name !== null && (newest.get(job.name) ?? 0) > Date.parse(job.submission_time);
    if (trouble && !(seenTo && trouble.severity === "failed")) found.push(trouble);
  }
  return found.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity) || (a.job.id < b.job.id ? -1 : 1));
}

function troubleOf(job: Job, now: number): Trouble | null {
  const said = (text: string | null | undefined, otherwise: string) => text?.trim() || otherwise;
  if (job.status === "FAILED") {
    const recent = job.completion_time !== null && now - Date.parse(job.completion_time) < NEWS_MS;
    if (job.user_cancelled || !recent) return null;
    return { job, severity: "failed", cause: said(job.failure, "It ended with an error that left no words.") };
  }
  if (job.status === "COMPLETED") return null;
  if (job.status.startsWith("SUSPENDED") && job.suspension_cause?.startsWith("Execution failure")) {
    return { job, severity: "suspended", cause: job.suspension_cause.replace(/^Execution failure:\s*/, "") };
  }
  if (job.progress.busy_seconds >= STUCK_SECONDS) {
    return {
      job,
      severity: "stuck",
      cause: `The epoch that is under way has taken ${job.progress.busy_seconds} s so far.`,
    };
  }
  if (job.interruption) return { job, severity: "restarting", cause: job.interruption };
  const away = job.status === "RUNNING" ? job.progress.tables_away[0] : undefined;
  if (away) return { job, severity: "table", cause: `${away.why} The job goes on with what was read of it before.` };
  if (job.update_failure)
    return { job, severity: "update", cause: `The last update was taken back: ${job.update_failure}` };
  return null;
}
