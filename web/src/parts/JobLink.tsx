import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Job } from "../api/client";

/** The name of a job, leading to it. */
export function JobLink({ job }: { job: Pick<Job, "id" | "name"> }) {
  return (
    <Anchor component={Link} to="/jobs/$job" params={{ job: job.id } as never} inherit>
      {job.name ?? job.id}
    </Anchor>
  );
}
