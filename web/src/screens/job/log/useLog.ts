import { useCallback, useEffect, useRef, useState } from "react";
import { answered, api, type Job } from "../../../api/client";
import { onFeed } from "../../../api/live";
import { appended, emptyLines, type Lines, linesBefore, type Page, prepended, TAIL_BYTES } from "../logic/log";

const PAGE_LINES = 10_000;
/** A page this large is not the last one. */
const FULL_PAGE_BYTES = 512 * 1024;
const LONGEST_PAUSE_MS = 2000;
/** Behind the end of every log: the server answers where that is. */
const BEHIND = 2 ** 40;

async function readPage(job: string, after: number, signal: AbortSignal): Promise<Page> {
  const query = { after, limit: PAGE_LINES };
  return answered(api.GET("/api/v1/jobs/{job}/logs", { params: { path: { job }, query }, signal }));
}

/** The newest lines of a job's log; it goes on while `following`. */
export function useLog(job: Job, following: boolean) {
  const [lines, setLines] = useState<Lines | null>(null);
  const [error, setError] = useState<unknown>(null);
  /** Where the log begins, as far as that is known. */
  const [first, setFirst] = useState(0);
  const known = useRef<Lines | null>(null);
  const active = job.status !== "FAILED" && job.status !== "COMPLETED" && job.status !== "SUSPENDED";
  const show = useCallback((next: Lines) => {
    known.current = next;
    setLines(next);
  }, []);

  useEffect(() => {
    if (!following) return;
    const ending = new AbortController();
    const { signal } = ending;
    const read = async () => {
      let cut = false;
      if (known.current === null) {
        const { next } = await readPage(job.id, BEHIND, signal);
        const start = Math.max(0, next - TAIL_BYTES);
        known.current = emptyLines(start);
        cut = start > 0;
      }
      while (!signal.aborted) {
        const before = known.current as Lines;
        const page = await readPage(job.id, before.next, signal);
        if (page.lines.length || page.lost || cut || before.lines.length === 0) show(appended(before, page, cut));
        cut = false;
        setError(null);
        const full = page.lines.length === PAGE_LINES || page.next - before.next >= FULL_PAGE_BYTES;
        if (!full) await nextNews(job.id, active ? LONGEST_PAUSE_MS : null, signal);
      }
    };
    const keepReading = async () => {
      while (!signal.aborted) {
        try {
          await read();
        } catch (problem) {
          if (signal.aborted) return;
          setError(problem);
          await nextNews(job.id, LONGEST_PAUSE_MS, signal);
        }
      }
    };
    void keepReading();
    return () => ending.abort();
  }, [job.id, following, active, show]);

  const readEarlier = useCallback(async () => {
    const now = known.current;
    if (!now) return;
    const start = Math.max(0, now.from - TAIL_BYTES);
    const pages: Page[] = [];
    try {
      for (let at = start; at < now.from; ) {
        const page = await readPage(job.id, at, new AbortController().signal);
        if (page.next <= at) break;
        pages.push(page);
        at = page.next;
      }
    } catch (problem) {
      setError(problem);
      return;
    }
    const earlier = linesBefore(pages, start, now.from);
    if (earlier.length === 0) setFirst(now.from);
    else if (known.current === now) show(prepended(now, earlier));
  }, [job.id, show]);

  return { lines, error, beginning: lines !== null && lines.from <= first, readEarlier };
}

/** Waits until the job has made progress, or so long; null: until something of it changes. */
function nextNews(job: string, longest: number | null, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let timer = 0;
    const done = () => {
      stop();
      window.clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const stop = onFeed((event) => {
      if (event.key === job && (event.kind === "progress" || event.kind === "job")) done();
    });
    if (longest !== null) timer = window.setTimeout(done, longest);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
