/** Whether a job can be updated now. */
import type { Job } from "../../api/client";

/** Why it cannot; null if it can. */
export function updateRefusal(job: Job): string | null {
  if (job.status === "FAILED" && job.has_state) return null;
  if (job.status === "FAILED" || job.status === "COMPLETED") {
    return "The job has ended and keeps no state: submit the new version as a job of its own.";
  }
  if (job.status !== "RUNNING" && job.status !== "SUSPENDED") {
    return `The job is ${job.status}: it can be updated when it is RUNNING or SUSPENDED.`;
  }
  if (job.termination) return "The job is being ended: wait until that is done.";
  if (job.updating && job.status === "RUNNING") return "An update is under way.";
  return null;
}
