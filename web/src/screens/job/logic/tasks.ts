/** The tasks of a run's last epochs, as the screen shows them. */
import type { Execution } from "../../../api/client";

type StageTasks = Execution["epochs"][number]["stages"][number];

/** A skew from which a stage is worth a look: the slowest task takes three times as long as the one in the middle. */
export const SKEW = 3;
/** A stage that is over so soon makes no epoch slow, whatever its skew. */
export const SOON_MS = 100;

/** The stages of all epochs, the newest epoch first. */
export function linesOf(execution: Execution): { epoch: number; stage: StageTasks }[] {
  return execution.epochs.flatMap(({ epoch, stages }) => stages.map((stage) => ({ epoch, stage })));
}

/** True if one partition keeps the others waiting. */
export function skewed(stage: StageTasks): boolean {
  return stage.tasks > 1 && stage.skew >= SKEW && stage.longest_ms >= SOON_MS;
}

/** An operator with state, by its number in Spark's plan; its part in the stage where that says more. */
export function named(operator: Execution["operators"][number]): string {
  const part = operator.role && operator.role !== operator.stage ? ` (${operator.role})` : "";
  return `${operator.number} ${operator.stage}${part}`;
}
