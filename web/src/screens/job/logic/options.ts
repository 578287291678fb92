/** Options as texts, and back. */
import type { OptionInForce } from "../../../api/client";
import { duration, UNKNOWN } from "../../../logic/format";
import { hasWords, wordsOf } from "../../../logic/search";

export type OptionRow = { key: number; name: string; value: string };

/** Options that are durations: their values are whole milliseconds. */
const DURATIONS = /(_interval|timeout)$/;

/** A value as one would write it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value as people read it. */
export function shownValue(option: Pick<OptionInForce, "name" | "value">): string {
  if (option.value === null || option.value === undefined) return UNKNOWN;
  if (DURATIONS.test(option.name) && typeof option.value === "number") return duration(option.value);
  const text = valueText(option.value);
  return text === "" || text === "[]" || text === "{}" ? "none" : text;
}

/** What the rows of a form ask for; the last of two with the same name counts. */
export function changesOf(rows: OptionRow[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const row of rows) if (row.name && row.value.trim() !== "") found[row.name] = row.value.trim();
  return found;
}

/** The options with all these words in their name, value or meaning, of one origin or of all. */
export function matchingOptions(options: OptionInForce[], words: string, origin: string): OptionInForce[] {
  const query = wordsOf(words);
  return options.filter(
    (option) =>
      (origin === "all" || option.origin === origin) &&
      hasWords(`${option.name} ${valueText(option.value)} ${option.meaning}`, query),
  );
}
