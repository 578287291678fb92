/** What can be done about a line of a report without a change of the code, and what the code may do. */
import type { StageVerdict } from "../../api/client";

/** A saved stage whose state nobody takes over, by the rule that says so; and the rule of the stages that could. */
const HEIRS: Record<string, string> = { C02: "C01", C21: "C01", C05: "C04" };
const CONVERTIBLE = new Set(["C19", "C20", "C25", "C30"]);

/** Stages of the new version that may take over what this line's stage has saved; that which the server names stands first. */
export function heirsOf(line: StageVerdict, lines: StageVerdict[]): string[] {
  const rule = HEIRS[line.rule ?? ""];
  if (!rule) return [];
  const found = lines.filter((other) => other.rule === rule && other.verdict === "new").map((other) => other.stage);
  const named = (stage: string) => Number(line.detail.includes(`'${stage}'`));
  return found.sort((a, b) => named(b) - named(a));
}

/** True if a function of the user's own (`@ps.migrate`) may bring the stage's state into its new form. */
export function isConvertible(line: StageVerdict): boolean {
  return line.verdict === "refused" && CONVERTIBLE.has(line.rule ?? "");
}

/** What stands in the code before such a function. */
export function migrationHead(stage: string): string {
  return `@ps.migrate(${JSON.stringify(stage)})\ndef converted(old):\n    return old.select(...)  # the rows of the new form`;
}
