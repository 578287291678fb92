/** What may be asked of a job now. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api, type Job } from "../../../api/client";
import { onFeed } from "../../../api/live";
import { keys } from "../../../api/queries";
import { useViewerRefusal } from "../../../parts/viewer";
import { refusalsOf, VERBS, type VerbName, verbsByState } from "../logic/verbs";

/** Why each verb is refused now, or null if it may be asked for; read anew when the job changes. */
export function useRefusals(job: Job): Record<VerbName, string | null> {
  const client = useQueryClient();
  const viewer = useViewerRefusal();
  const changed = [job.status, job.termination, job.version, job.updating, job.has_state, job.token, job.due].join(" ");
  const query = useQuery({
    queryKey: keys.job(job.id, "verbs", changed),
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/jobs/{job}/verbs", { params: { path: { job: job.id } }, signal })),
    placeholderData: keepPreviousData,
  });
  useEffect(
    () =>
      onFeed((event) => {
        if (event.kind !== "job" || event.key !== job.id) return;
        void client.invalidateQueries({ queryKey: keys.job(job.id, "verbs") });
      }),
    [client, job.id],
  );
  // Until the server has said it, the state of the job has to do.
  const known = query.data ?? verbsByState(job);
  const found = refusalsOf(known);
  return viewer === null ? found : (Object.fromEntries(VERBS.map((verb) => [verb, viewer])) as typeof found);
}
