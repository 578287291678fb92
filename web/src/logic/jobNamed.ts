import type { Job } from "../api/client";

/** The job of this name or id: of several with that name the one that has not ended, else the newest. */
export function jobNamed(jobs: Job[] | undefined, nameOrId: string): Job | undefined {
  const found = jobs?.filter((job) => job.id === nameOrId || job.name === nameOrId) ?? [];
  const alive = (job: Job) => job.status !== "FAILED" && job.status !== "COMPLETED";
  return found.sort(
    (a, b) => Number(alive(b)) - Number(alive(a)) || b.submission_time.localeCompare(a.submission_time),
  )[0];
}
