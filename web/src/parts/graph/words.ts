/** A pipeline in words. */
import type { JobGraph } from "../../api/client";
import { bytes, count, percent, rate } from "../../logic/format";
import { type GraphStage, type StageFacts, whatItDoes } from "./looks";

/** The rows a second that an edge carries, where that is counted; null: it is not. */
export function edgeRate(
  graph: JobGraph,
  edge: JobGraph["edges"][number],
  facts: Record<string, StageFacts>,
): number | null {
  const given = facts[edge.source]?.rowsPerSecond;
  if (typeof given === "number") return given;
  const reads = graph.edges.filter((other) => other.target === edge.target).length;
  const giver = graph.nodes.find((node) => node.name === edge.target);
  // What a sink takes is counted where it comes in.
  const taken = giver?.kind === "sink" && reads === 1 ? facts[edge.target]?.rowsPerSecond : null;
  return taken ?? null;
}

/** A stage in one sentence, for who does not see the picture. */
export function sentenceOf(stage: GraphStage, reads: string[], facts: StageFacts | undefined): string {
  const parts = [`${apart(stage.name)}: ${apart(whatItDoes(stage))}`];
  parts.push(reads.length ? `reads ${reads.map(apart).join(", ")}` : "reads no other stage");
  if (stage.keeps_state) parts.push("keeps state");
  if (facts?.mark) parts.push(facts.mark);
  if (typeof facts?.stateRows === "number") {
    parts.push(`${count(facts.stateRows)} rows of state in ${bytes(facts.stateBytes)}`);
  }
  if (typeof facts?.rowsPerSecond === "number") parts.push(`${rate(facts.rowsPerSecond)} rows`);
  if (facts?.lateRows) parts.push(`${count(facts.lateRows)} late rows dropped`);
  if (typeof facts?.share === "number") parts.push(`${percent(facts.share)} of the epoch's time at its state`);
  return parts.join(", ");
}

const MOST_SIGNS = 200;

/** A text of somebody else's within a sentence of ours: its marks for writing direction end with it, and so does its length. */
export function apart(text: string): string {
  const short = text.length > MOST_SIGNS ? `${text.slice(0, MOST_SIGNS)}…` : text;
  return `\u2068${short}\u2069`;
}

/** The names of what each stage reads. */
export function readsOf(graph: JobGraph): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const edge of graph.edges) found.set(edge.target, [...(found.get(edge.target) ?? []), edge.source]);
  return found;
}
