/** What differs between two JSON values, place by place. */
import { Written } from "../../../logic/exactJson";
import { pathText } from "./paths";

export type Difference = {
  /** Empty for the whole value. */
  path: string;
  kind: "added" | "removed" | "changed";
  before: unknown;
  after: unknown;
};

const DEEPEST = 40;

/** The first `most` differences, in the order of the older value; undefined stands for no value at all. */
export function differences(before: unknown, after: unknown, most = 200): Difference[] {
  const found: Difference[] = [];
  walk([], before, after);
  return found;

  function walk(steps: string[], old: unknown, now: unknown) {
    if (found.length >= most || Object.is(old, now)) return;
    const names = steps.length < DEEPEST ? namesIn(old, now) : [];
    for (const name of names) walk([...steps, name], own(old, name), own(now, name));
    if (names.length || JSON.stringify(old) === JSON.stringify(now)) return;
    const kind = old === undefined ? "added" : now === undefined ? "removed" : "changed";
    found.push({ path: pathText(steps), kind, before: old, after: now });
  }
}

/** A value on one line, cut after `most` signs. */
export function shortValue(value: unknown, most = 160): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** The names in either, if both have names of the same kind; a value that is not there has what the other has. */
function namesIn(old: unknown, now: unknown): string[] {
  const there = [old, now].filter((value) => value !== undefined);
  const comparable = there.every((value) => typeof value === "object" && value !== null && !(value instanceof Written));
  if (!comparable || new Set(there.map(Array.isArray)).size > 1) return [];
  return [...new Set(there.flatMap((value) => Object.keys(value as object)))];
}

function own(value: unknown, name: string): unknown {
  return value !== undefined && Object.hasOwn(value as object, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
