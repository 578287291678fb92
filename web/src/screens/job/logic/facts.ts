/** What is known of each stage of a job now. */
import type { Job, JobGraph, JobHistory } from "../../../api/client";
import type { StageFacts } from "../../../parts/graph/looks";
import { fresh } from "./history";

/** A rate is believed so long at least; with epochs further apart, three times as long as these. */
const LEAST_SECONDS = 60;

export function believedSeconds(job: Job): number {
  const interval = Number(job.config.snapshot_interval_ms ?? 0) / 1000;
  return Math.max(LEAST_SECONDS, 3 * interval);
}

/** Figures of all stages of a running job; of one that does not run, what it keeps alone. */
export function factsOf(job: Job, history: JobHistory | undefined, now: number): Record<string, StageFacts> {
  const running = job.status === "RUNNING";
  const facts: Record<string, StageFacts> = {};
  for (const [name, figures] of Object.entries(job.progress.stages ?? {})) {
    facts[name] = {
      stateRows: number(figures.state_rows),
      stateBytes: number(figures.state_bytes),
      lateRows: number(figures.late_rows),
      share: running ? shareOf(number(figures.state_ms), number(job.progress.epoch_ms)) : null,
    };
  }
  if (!running || !history) return facts;
  for (const [name, columns] of Object.entries(history.stages)) {
    const column = columns.rows_out_per_second ?? columns.rows_in_per_second;
    const rowsPerSecond = fresh(column, history.times, now, believedSeconds(job));
    facts[name] = { ...facts[name], rowsPerSecond };
  }
  return facts;
}

const LEFT_OUT: [figure: string, term: string][] = [
  ["unparsed_rows", "Rows not parsed"],
  ["lost_rows", "Rows lost unread"],
  ["ahead_rows", "Rows too far ahead of the clock"],
  ["untimed_rows", "Rows without event time"],
  ["keyless_rows", "Rows without key"],
  ["long_key_rows", "Rows with too long a key"],
  ["older_rows", "Rows older than their entry"],
  ["failed_rows", "Rows a function could not take"],
  ["repeated_rows", "Repeated rows"],
  ["tombstone_rows", "Tombstones"],
];

/** Why rows went no further than to a stage, beside late ones, and how many. */
export function leftOut(figures: Record<string, unknown>): [term: string, rows: number][] {
  return LEFT_OUT.flatMap(([figure, term]): [string, number][] => {
    const rows = number(figures[figure]);
    return rows === null ? [] : [[term, rows]];
  });
}

/** How much of the epoch went by at the stage's state. */
function shareOf(spent: number | null, epoch: number | null): number | null {
  return spent === null || !epoch ? null : Math.min(1, spent / epoch);
}

/** A figure among what a stage says of itself, which may be anything. */
export function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The stages that only one of two pipelines has, and those that are other ones under the same name. */
export function comparedGraphs(before: JobGraph, after: JobGraph) {
  const old = new Map(before.nodes.map((node) => [node.name, node]));
  const young = new Map(after.nodes.map((node) => [node.name, node]));
  const text = (node: JobGraph["nodes"][number], graph: JobGraph) =>
    JSON.stringify([
      node.kind,
      node.description,
      node.columns,
      graph.edges.filter((edge) => edge.target === node.name).map((edge) => edge.source),
    ]);
  return {
    gone: before.nodes.filter((node) => !young.has(node.name)).map((node) => node.name),
    come: after.nodes.filter((node) => !old.has(node.name)).map((node) => node.name),
    changed: after.nodes
      .filter((node) => {
        const same = old.get(node.name);
        return same !== undefined && text(same, before) !== text(node, after);
      })
      .map((node) => node.name),
  };
}
