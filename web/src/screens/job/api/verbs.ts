/** What may be asked of a job now. The server says it. */
import { keepPreviousData, queryOptions, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api, type Job } from "../../../api/client";
import { onFeed } from "../../../api/live";
import { keys } from "../../../api/queries";
import { everyVerb, type Refusals, refusalsOf } from "../../../logic/verbs";
import { useViewerRefusal } from "../../../parts/viewer";

const NOT_ANSWERED = "The server has not said yet what the job allows.";

/** Read anew when the job has changed. */
function verbsOf(job: Job) {
  const facts = [job.status, job.termination, job.version, job.updating, job.has_state, job.token, job.due].join(" ");
  return queryOptions({
    queryKey: keys.job(job.id, "verbs", facts),
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/jobs/{job}/verbs", { params: { path: { job: job.id } }, signal })),
  });
}

/** Why each verb is refused now, or null if it may be asked for. */
export function useRefusals(job: Job): Refusals {
  const client = useQueryClient();
  const viewer = useViewerRefusal();
  const query = useQuery({ ...verbsOf(job), placeholderData: keepPreviousData });
  useEffect(
    () =>
      onFeed((event) => {
        if (event.kind !== "job" || event.key !== job.id) return;
        void client.invalidateQueries({ queryKey: keys.job(job.id, "verbs") });
      }),
    [client, job.id],
  );
  if (viewer !== null) return everyVerb(() => viewer);
  return query.data ? refusalsOf(query.data) : everyVerb(() => NOT_ANSWERED);
}

/** The refusals of several jobs, by id, of those for which the server has answered. */
export function useRefusalsOf(jobs: Job[]): Map<string, Refusals> {
  const queries = useQueries({ queries: jobs.map((job) => ({ ...verbsOf(job), staleTime: 0 })) });
  return new Map(
    jobs.flatMap((job, place) => {
      const answer = queries[place]?.data;
      return answer ? [[job.id, refusalsOf(answer)] as const] : [];
    }),
  );
}
