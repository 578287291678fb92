/** The history of a job, put together from pages and read for what charts and pictures show. */
import type { JobHistory } from "../../../api/client";

type Columns = Record<string, (number | null)[]>;

/** Seconds for which the server keeps a history of this step. */
export const KEPT_SECONDS = { second: 15 * 60, minute: 24 * 60 * 60 } as const;

/** From where on the next page is read: the last moments may still change, and rates need the moment before them. */
export function readAfter(known: JobHistory | undefined): number {
  const moment = known?.times.at(-3);
  return moment ? Date.parse(moment) / 1000 : 0;
}

/** `known` with a later page that overlaps it: what the page says counts, but for rates, which its first moment lacks. */
export function mergedHistory(known: JobHistory | undefined, page: JobHistory): JobHistory {
  const first = page.times[0];
  if (!known || known.step !== page.step) return page;
  if (first === undefined) return known;
  const cut = known.times.findIndex((time) => Date.parse(time) >= Date.parse(first));
  const kept = cut < 0 ? known.times.length : cut;
  const oldest = Date.parse(page.times.at(-1) ?? first) - KEPT_SECONDS[page.step] * 1000;
  const skipped = known.times.findIndex((time, index) => index >= kept || Date.parse(time) >= oldest);
  const from = skipped < 0 ? kept : Math.min(skipped, kept);
  const joined = (before: Columns, after: Columns): Columns => {
    const found: Columns = {};
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const old = before[name] ?? known.times.map(() => null);
      const fresh = [...(after[name] ?? page.times.map(() => null))];
      if (name.endsWith("_per_second") && fresh[0] === null && cut >= 0) fresh[0] = old[kept] ?? null;
      found[name] = [...old.slice(from, kept), ...fresh];
    }
    return found;
  };
  const stages: JobHistory["stages"] = {};
  for (const name of new Set([...Object.keys(known.stages), ...Object.keys(page.stages)])) {
    stages[name] = joined(known.stages[name] ?? {}, page.stages[name] ?? {});
  }
  return {
    step: page.step,
    times: [...known.times.slice(from, kept), ...page.times],
    job: joined(known.job, page.job),
    parts_ms: joined(known.parts_ms, page.parts_ms),
    stages,
  };
}

/** The moments at which another run had begun. */
export function restartsOf(history: JobHistory): { at: string; label: string }[] {
  const runs = history.job.run ?? [];
  const found: { at: string; label: string }[] = [];
  runs.forEach((run, index) => {
    const before = runs[index - 1];
    const at = history.times[index];
    if (at && typeof run === "number" && typeof before === "number" && run !== before) {
      found.push({ at, label: `Restart: run ${run}` });
    }
  });
  return found;
}

/** The last value of a column, if its moment is not older than `seconds`. */
export function fresh(
  column: (number | null)[] | undefined,
  times: string[],
  now: number,
  seconds: number,
): number | null {
  const at = times.at(-1);
  if (!at || now - Date.parse(at) > seconds * 1000) return null;
  return column?.at(-1) ?? null;
}

/** The columns of a history by name, those without a single value left out. */
export function withValues(columns: Columns): [string, (number | null)[]][] {
  return Object.entries(columns).filter(([, values]) => values.some((value) => value !== null));
}
