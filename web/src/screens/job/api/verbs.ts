/** What may be asked of a job now. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api, type Job } from "../../../api/client";
import { onFeed } from "../../../api/live";
import { keys } from "../../../api/queries";
import { useViewerRefusal } from "../../../parts/viewer";
import { VERBS, type VerbName, verbsByState } from "../logic/verbs";

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
  const refusal = (verb: VerbName): string | null => {
    if (viewer) return viewer;
    const found = known.find((each) => each.verb === verb);
    if (!found) return null;
    return found.refused ?? (found.nothing_to_do ? NOTHING_TO_DO[verb] : null);
  };
  return Object.fromEntries(VERBS.map((verb) => [verb, refusal(verb)])) as Record<VerbName, string | null>;
}

const NOTHING_TO_DO: Record<VerbName, string> = {
  suspend: "The job is suspended already.",
  resume: "There is nothing to resume: the job is not suspended.",
  restart: "The job is being started already.",
  cancel: "The job has ended already.",
  export: "There is nothing to save.",
  cancel_and_export: "There is nothing to save.",
  update: "There is nothing to update.",
  configure: "There is nothing to change.",
  discard: "The job keeps no state that could be discarded.",
  rollback: "There is no update to go back from.",
};
