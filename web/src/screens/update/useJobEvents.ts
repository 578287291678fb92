import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api, type JobEvent } from "../../api/client";
import { onFeed } from "../../api/live";
import { keys } from "../../api/queries";

type Known = { events: JobEvent[]; next: number };
const MOST = 1000;

/** All events of a job that are kept, oldest first; those that come are added when the stream says that the job has changed. */
export function useJobEvents(job: string) {
  const client = useQueryClient();
  const key = keys.job(job, "update-events");
  const query = useQuery({
    queryKey: key,
    queryFn: async ({ signal }): Promise<Known> => {
      const known = client.getQueryData<Known>(key) ?? { events: [], next: 0 };
      const page = await answered(
        api.GET("/api/v1/jobs/{job}/events", {
          params: { path: { job }, query: { after: known.next, limit: MOST } },
          signal,
        }),
      );
      return { events: [...known.events, ...(page.events as JobEvent[])].slice(-MOST), next: page.next };
    },
    select: (known) => known.events,
    staleTime: 0,
  });
  useEffect(
    () =>
      onFeed((event) => {
        if (event.kind === "job" && event.key === job) {
          void client.invalidateQueries({ queryKey: keys.job(job, "update-events") });
        }
      }),
    [client, job],
  );
  return query;
}
