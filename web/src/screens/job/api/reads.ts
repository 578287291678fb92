/** What no event carries of a job: read when it is looked at, and anew when the job has another version. */
import { useQuery } from "@tanstack/react-query";
import { answered, api, type Job } from "../../../api/client";
import { keys } from "../../../api/queries";

/** The pipeline of a version. */
export function useGraph(job: Job, version: number) {
  // A version that has not been compiled yet has no plan: it is asked for again once it has.
  const compiled = version !== job.version || Boolean(job.plan);
  return useQuery({
    queryKey: keys.job(job.id, "graph", version, compiled),
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/jobs/{job}/graph", { params: { path: { job: job.id }, query: { version } }, signal })),
    enabled: compiled,
  });
}

export function useVersions(job: Job) {
  return useQuery({
    queryKey: keys.job(job.id, "versions", job.version),
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/jobs/{job}/versions", { params: { path: { job: job.id } }, signal })),
  });
}

export function useOptions(job: Job) {
  return useQuery({
    queryKey: keys.job(job.id, "options", job.version, JSON.stringify([job.options, job.config])),
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/jobs/{job}/options", { params: { path: { job: job.id } }, signal })),
  });
}
