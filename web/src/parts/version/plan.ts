/** A compiled plan as the graph of a pipeline, and what an update makes of each stage of two graphs. */
import type { JobGraph } from "../../api/client";
import type { StageFacts, StageMark } from "../graph/looks";
import type { AnyReport } from "../report";

type Node = JobGraph["nodes"][number];
type Marked = Record<string, StageFacts>;

/** The stages of a plan (the server's `plan` of a check or snapshot), and what they read of one another. */
export function graphOfPlan(plan: unknown, version: number): JobGraph {
  const stages = listOf(recordOf(plan).stages).map(recordOf);
  const nodes = stages.map(nodeOf);
  const edges = stages.flatMap((stage) =>
    listOf(stage.inputs).map((source) => ({ source: textOf(source), target: textOf(stage.name) })),
  );
  return { version, nodes, edges };
}

/**
 * What becomes of the stages of both pipelines: by the report where it speaks of them, else by whether the other has them.
 * `renamed`: new name to old name.
 */
export function marksOf(
  report: AnyReport,
  before: JobGraph,
  after: JobGraph,
  renamed: Record<string, string>,
): { before: Marked; after: Marked } {
  const old = new Map<string, StageMark>();
  const now = new Map<string, StageMark>();
  const names = new Map(Object.entries(renamed));
  for (const line of report.lines) {
    if (line.verdict !== "new") old.set(names.get(line.stage) ?? line.stage, line.verdict);
    now.set(line.stage, line.verdict);
  }
  return {
    before: marked(before, after, old, new Set(Object.values(renamed)), "dropped"),
    after: marked(after, before, now, new Set(Object.keys(renamed)), "new"),
  };
}

function marked(
  graph: JobGraph,
  other: JobGraph,
  said: Map<string, StageMark>,
  renamed: Set<string>,
  alone: StageMark,
): Marked {
  const theirs = new Set(other.nodes.map((node) => node.name));
  const found: Marked = {};
  for (const { name } of graph.nodes) {
    const mark = said.get(name) ?? (theirs.has(name) || renamed.has(name) ? undefined : alone);
    if (mark) found[name] = { mark };
  }
  return found;
}

function nodeOf(stage: Record<string, unknown>): Node {
  return {
    name: textOf(stage.name),
    kind: textOf(stage.kind) as Node["kind"],
    description: textOf(stage.description),
    location: textOf(stage.location),
    keeps_state: stage.layout !== null && stage.layout !== undefined,
    columns: listOf(stage.columns).map((pair) => {
      const [name, type] = listOf(pair);
      return { name: textOf(name), type: textOf(type) };
    }),
  };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
