/** Which jobs are shown. */
import type { DisplayStatus, Job, Snapshot } from "../../api/client";

export const STATES: DisplayStatus[] = [
  "RUNNING",
  "STARTING",
  "NOT_RUNNING",
  "SUSPENDED",
  "SUSPENDED_EXPORTING_SNAPSHOT",
  "COMPLETING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
];

/** The states that an address names, `RUNNING,FAILED`; words that are none are left out. */
export function statesOf(text: string | undefined): DisplayStatus[] {
  const words = (text ?? "").split(",");
  return STATES.filter((state) => words.includes(state));
}

/** Jobs with this in their name or id, in whatever case, and in one of these states; no states are all states. */
export function matching(jobs: Job[], name: string | undefined, states: DisplayStatus[]): Job[] {
  const wanted = name?.toLowerCase() ?? "";
  return jobs.filter(
    (job) =>
      (!states.length || states.includes(job.display_status)) &&
      (!wanted || job.id.includes(wanted) || (job.name ?? "").toLowerCase().includes(wanted)),
  );
}

/** When the newest snapshot of each job was taken, by the job's id. */
export function lastSnapshots(snapshots: Snapshot[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { job_id, created } of snapshots) {
    const before = found.get(job_id);
    if (before === undefined || Date.parse(before) < Date.parse(created)) found.set(job_id, created);
  }
  return found;
}
