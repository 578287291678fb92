/** How a job does, read on as it goes on. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { answered, api, type JobHistory } from "../../../api/client";
import { onFeed } from "../../../api/live";
import { keys } from "../../../api/queries";
import { mergedHistory, readAfter } from "../logic/history";

export type Step = JobHistory["step"];

/** A minute's figures change by the second, but nobody sees it. */
const PAUSE_MS: Record<Step, number> = { second: 1000, minute: 15_000 };

/** The last 15 minutes or 24 hours of a job. */
export function useHistory(job: string, step: Step) {
  const client = useQueryClient();
  const key = keys.job(job, "history", step);
  useOnProgress(job, PAUSE_MS[step], () => {
    void client.invalidateQueries({ queryKey: key }, { cancelRefetch: false });
  });
  return useQuery({ queryKey: key, queryFn: ({ signal }) => readOn(client, job, step, signal) });
}

async function readOn(client: QueryClient, job: string, step: Step, signal: AbortSignal): Promise<JobHistory> {
  const known = client.getQueryData<JobHistory>(keys.job(job, "history", step));
  const query = { step, after: readAfter(known) };
  const page = await answered(api.GET("/api/v1/jobs/{job}/history", { params: { path: { job }, query }, signal }));
  return mergedHistory(known, page);
}

/** Calls `then` when the job has made progress, at most once in `pause` milliseconds, and never misses the last one. */
export function useOnProgress(job: string, pause: number, then: () => void) {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    let timer = 0;
    let last = 0;
    const call = () => {
      timer = 0;
      last = Date.now();
      latest.current();
    };
    const stop = onFeed((event) => {
      if ((event.kind !== "progress" && event.kind !== "job") || event.key !== job || timer) return;
      timer = window.setTimeout(call, Math.max(0, last + pause - Date.now()));
    });
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, [job, pause]);
}
