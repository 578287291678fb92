import type { Job } from "../api/client";
import { PlaceLink } from "./links";

/** The name of a job, leading to it. */
export function JobLink({ job }: { job: Pick<Job, "id" | "name"> }) {
  return (
    <PlaceLink to="/jobs/$job" params={{ job: job.id }} inherit>
      {job.name ?? job.id}
    </PlaceLink>
  );
}
