/** Totals over all jobs, gathered while the page is open. */
import type { Job } from "../api/client";

/** Rows a second that running jobs read, together. */
export function totalRate(jobs: Job[]): number {
  return jobs.reduce((sum, job) => sum + (job.status === "RUNNING" ? job.progress.rows_per_second : 0), 0);
}

/** How many jobs there are in each state that occurs. */
export function byState(jobs: Job[]): Map<Job["status"], number> {
  const found = new Map<Job["status"], number>();
  for (const job of jobs) found.set(job.status, (found.get(job.status) ?? 0) + 1);
  return found;
}

/** `values` with one more at the end, and at most `most` of them. */
export function pushed(values: number[], value: number, most: number): number[] {
  return values.length < most ? [...values, value] : [...values.slice(values.length - most + 1), value];
}
