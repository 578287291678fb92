/** How stages look: sizes, words and colours. */
import type { JobGraph } from "../../api/client";
import { SIGNAL } from "../theme";

export type GraphStage = JobGraph["nodes"][number];
export type StageMark = "restored" | "new" | "dropped" | "converted" | "refused";
export type StageFacts = {
  rowsPerSecond?: number | null;
  stateRows?: number | null;
  stateBytes?: number | null;
  lateRows?: number | null;
  share?: number | null;
  mark?: StageMark;
};

export const NODE_WIDTH = 196;

/** Stages with state say so in a line of its own. */
export function nodeHeight(keepsState: boolean): number {
  return keepsState ? 88 : 60;
}

export const MARK_COLORS: Record<StageMark, string> = {
  restored: SIGNAL.good,
  new: SIGNAL.busy,
  dropped: SIGNAL.quiet,
  converted: SIGNAL.attention,
  refused: SIGNAL.bad,
};

/** What a stage does, as far as its kind does not say it. */
export function whatItDoes(stage: GraphStage): string {
  const description = stage.description.trim();
  if (!description || description === stage.kind) return stage.kind;
  if (stage.kind === "stateless") return description;
  return description.startsWith(stage.kind) ? description : `${stage.kind} · ${description}`;
}

/** The colour of a stage's edge: of its mark, or the warmer the larger its share of the epoch's time; null: no figure. */
export function stageColor(facts: StageFacts | undefined): string | null {
  if (facts?.mark) return MARK_COLORS[facts.mark];
  const share = facts?.share;
  if (typeof share !== "number" || !Number.isFinite(share)) return null;
  if (share < 0.25) return SIGNAL.good;
  return share < 0.6 ? SIGNAL.attention : SIGNAL.bad;
}
