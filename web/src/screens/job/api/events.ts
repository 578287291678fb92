/** What happened to a job, and what happens to it. */
import { useEffect, useState } from "react";
import { answered, api, type Job, type JobEvent, type JobEvents } from "../../../api/client";

/** The server keeps as many. */
const KEEP_EVENTS = 1000;
const WAIT_SECONDS = 25;
const AGAIN_MS = 2000;

type Known = { events: JobEvent[]; lost: number };

/** All events of a job that are kept, oldest first; waits for the next one until the reader leaves. */
export function useJobEvents(job: Job) {
  const [known, setKnown] = useState<Known | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ended = job.status === "FAILED" || job.status === "COMPLETED";
  // biome-ignore lint/correctness/useExhaustiveDependencies: a job that has ended and is resumed has events again
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    let after = 0;
    let over = false;
    const read = async () => {
      const query = { after, limit: KEEP_EVENTS, wait_seconds: after ? WAIT_SECONDS : 0 };
      const params = { path: { job: job.id }, query };
      const page = (await answered(api.GET("/api/v1/jobs/{job}/events", { params, signal }))) as JobEvents;
      const begins = after === 0;
      after = page.next;
      over = page.ended;
      setError(null);
      setKnown((before) => {
        if (before && !begins && page.events.length === 0) return before;
        const events = [...(begins ? [] : (before?.events ?? [])), ...page.events];
        return { events: events.slice(-KEEP_EVENTS), lost: (begins ? 0 : (before?.lost ?? 0)) + page.lost };
      });
    };
    const keepReading = async () => {
      while (!signal.aborted && !over) {
        try {
          const empty = after === 0;
          await read();
          // A job without any event yet: the next question waits, too.
          if (empty && after === 0) await pause(AGAIN_MS, signal);
        } catch (problem) {
          if (signal.aborted) return;
          setError(problem);
          await pause(AGAIN_MS, signal);
        }
      }
    };
    void keepReading();
    return () => leaving.abort();
  }, [job.id, ended]);
  return { known, error };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      window.clearTimeout(timer);
      resolve();
    });
  });
}
