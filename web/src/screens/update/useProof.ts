import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../api/client";
import { onFeed } from "../../api/live";
import { keys } from "../../api/queries";
import { type Proof, proofOf } from "./proof";

/** So long before the stop the last epoch of the old version is looked for. */
const BEFORE_SECONDS = 300;
const PAUSE_MS = 1000;

/** The epochs on both sides of the gap, read anew while the second one is still to come. */
export function useProof(job: string, stopped: string | null): Proof | undefined {
  const client = useQueryClient();
  const found = useQuery({
    queryKey: keys.job(job, "change-over", stopped),
    enabled: stopped !== null,
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/jobs/{job}/history", {
          params: {
            path: { job },
            query: { step: "second", after: Date.parse(stopped ?? "") / 1000 - BEFORE_SECONDS },
          },
          signal,
        }),
      ),
    select: (history) => proofOf(history, stopped ?? ""),
  }).data;
  const complete = found?.first != null;
  useEffect(() => {
    if (complete || stopped === null) return;
    let waiting = 0;
    const stop = onFeed((event) => {
      if (event.key !== job || waiting) return;
      waiting = window.setTimeout(() => {
        waiting = 0;
        void client.invalidateQueries({ queryKey: keys.job(job, "change-over", stopped) });
      }, PAUSE_MS);
    });
    return () => {
      stop();
      window.clearTimeout(waiting);
    };
  }, [client, job, stopped, complete]);
  return found;
}
