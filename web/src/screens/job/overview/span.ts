import type { Job, JobHistory } from "../../../api/client";
import { KEPT_SECONDS } from "../logic/history";

/** Seconds since the epoch between which charts are drawn: up to now while the job runs, else up to its last figure. */
export function spanOf(job: Job, history: JobHistory, now: number): [number, number] {
  const last = history.times.at(-1);
  const end = job.status === "RUNNING" || !last ? now / 1000 : Date.parse(last) / 1000;
  return [end - KEPT_SECONDS[history.step], end];
}
