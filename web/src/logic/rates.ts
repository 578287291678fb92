/** Totals over all jobs, gathered while the page is open. */
import type { Job } from "../api/client";

/** Rows a second that running jobs read, together. */
export function totalRate(jobs: Job[]): number {
  return jobs.reduce((sum, job) => sum + (job.status === "RUNNING" ? job.progress.rows_per_second : 0), 0);
}

/** How many jobs there are in each state that occurs. */
export function byState(jobs: Job[]): Map<Job["display_status"], number> {
  const found = new Map<Job["display_status"], number>();
  for (const job of jobs) found.set(job.display_status, (found.get(job.display_status) ?? 0) + 1);
  return found;
}

/** `values` with one more at the end, and at most `most` of them. */
export function pushed(values: number[], value: number, most: number): number[] {
  return values.length < most ? [...values, value] : [...values.slice(values.length - most + 1), value];
}

/** How long what a job has read at once may have taken to come: a longer silence is one. */
const LONGEST_GAP_SECONDS = 30;

/** Rows a second of these jobs together, a value for each of the `seconds` before `end` (in seconds), from their histories: a
 * figure holds since the moment before it. */
export function totalBefore(
  histories: { times: string[]; job: Record<string, (number | null)[]> }[],
  end: number,
  seconds: number,
): number[] {
  const total = new Array<number>(seconds).fill(0);
  const first = Math.floor(end) - seconds;
  for (const history of histories) {
    let before: number | null = null;
    history.times.forEach((time, place) => {
      const at = Math.floor(Date.parse(time) / 1000);
      const value = history.job.rows_per_second?.[place];
      const from = before === null || at - before > LONGEST_GAP_SECONDS ? at : before + 1;
      before = at;
      if (typeof value !== "number") return;
      for (let second = Math.max(from, first); second <= at && second < first + seconds; second += 1) {
        total[second - first] = (total[second - first] ?? 0) + value;
      }
    });
  }
  return total;
}
