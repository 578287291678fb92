/** The snapshots of one job. */
import type { Job, Snapshot } from "../../../api/client";

/** Those that were taken of this job, the newest first. */
export function snapshotsOf(job: Pick<Job, "id">, snapshots: Snapshot[]): Snapshot[] {
  return snapshots
    .filter((snapshot) => snapshot.job_id === job.id)
    .sort((a, b) => Number(a.created < b.created) - Number(a.created > b.created));
}

/** A name for a new snapshot, by the clock of who reads it: `fleet-20260131-094502`. */
export function suggestedName(job: string, now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  const stem = job.replace(/[^\w.-]+/g, "-").slice(0, 60) || "job";
  return `${stem}-${day}-${time}`;
}
