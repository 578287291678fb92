/** What a compatibility report says, in the order and the words in which people need it. */
import type { Report, StageVerdict } from "../api/client";

export type Verdict = StageVerdict["verdict"];

/** A report of a check, an update, or an event: `refused` is worked out where it is not said. */
export type AnyReport = Pick<Report, "lines" | "way" | "partitions"> & { refused?: boolean };

/** From what stops an update to what changes nothing. */
export const VERDICTS: Verdict[] = ["refused", "dropped", "converted", "new", "restored"];

const RULES: Record<string, string> = {
  C01: "A new stage with state starts empty.",
  C02: "The state of a stage that is gone is ignored.",
  C03: "The same stage goes on from its saved state.",
  C04: "A new source starts where it is configured to.",
  C05: "The offset of a source that is gone is ignored.",
  C12: "Sessions that are open keep their old time-out.",
  C13: "Windows of another size are incomplete until one new window has passed.",
  C14: "Windows of another slide are right once the change-over has passed.",
  C15: "Another time to live holds for saved state, too.",
  C17: "Aggregates that keep their form keep their state.",
  C19: "A window cannot become a session, nor a session a window.",
  C20: "State of another form cannot be taken over.",
  C21: "A renamed stage would lose its state.",
  C24: "A sink that knows its epochs cannot become one of another kind.",
  C25: "State by another key cannot be taken over.",
  C26: "Tumbling windows can become sliding ones, and back.",
  C30: "Fields of state may be added and widened, not dropped.",
  C31: "Variables of own code go on under the same name, with the same type.",
};

/** What a rule of the compatibility table says; null of a number that is not known here. */
export function ruleSentence(rule: string | null | undefined): string | null {
  return (rule && RULES[rule]) ?? null;
}

/** The lines with what is refused first; within a verdict as the server gave them. */
export function inOrder(lines: StageVerdict[]): StageVerdict[] {
  return [...lines].sort((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict));
}

/** How many lines there are of each verdict that occurs, what is refused first. */
export function counted(lines: StageVerdict[]): [Verdict, number][] {
  return VERDICTS.map((verdict): [Verdict, number] => [
    verdict,
    lines.filter((line) => line.verdict === verdict).length,
  ]).filter(([, count]) => count > 0);
}

/** How the state comes into the new version, in a sentence. */
export function waySentence(report: AnyReport): string {
  if (isRefused(report)) return "The new version would not start from this state.";
  return report.way === "resume"
    ? "The checkpoint is copied and resumed: the stages with state are the same."
    : "A new checkpoint is laid down, and each stage's state is brought into it.";
}

/** What happens to the number of shuffle partitions; null if it stays, or nothing is said of it. */
export function partitionsSentence(report: AnyReport): string | null {
  const [before, after] = report.partitions;
  if (after === null || before === after) return null;
  return before === null ? `State in ${after} partitions.` : `State in ${after} partitions instead of ${before}.`;
}

/** True if any stage is refused. */
export function isRefused(report: AnyReport): boolean {
  return report.refused ?? report.lines.some((line) => line.verdict === "refused");
}
