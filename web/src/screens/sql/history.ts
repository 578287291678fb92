/** The statements that were run in this browser, the newest first; never what they gave. */
import { useState } from "react";

export type Run = { text: string; at: number };

const KEY = "pitstop.sql.history";
const MOST = 100;
/** A longer text is a file's, and not kept. */
const LONGEST = 20_000;
const MOST_LETTERS = 200_000;

/** The list with one more run; the same text is in it once. */
export function withRun(runs: Run[], run: Run): Run[] {
  const text = run.text.trim();
  if (!text || text.length > LONGEST) return runs;
  let letters = 0;
  return [{ text, at: run.at }, ...runs.filter((each) => each.text !== text)].slice(0, MOST).filter((each) => {
    letters += each.text.length;
    return letters <= MOST_LETTERS;
  });
}

/** What was written down, as far as it has the form that this page writes. */
export function readRuns(text: string | null): Run[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(found)) return [];
    return found.filter((run) => typeof run?.text === "string" && typeof run?.at === "number").slice(0, MOST);
  } catch {
    return [];
  }
}

/** The history, what adds to it, and what forgets it. A browser that keeps nothing has it until the page is left. */
export function useHistory(): { runs: Run[]; add: (text: string) => void; forget: () => void } {
  const [runs, setRuns] = useState(() => readRuns(kept()));
  const change = (next: Run[]) => {
    setRuns(next);
    try {
      if (next.length) window.localStorage.setItem(KEY, JSON.stringify(next));
      else window.localStorage.removeItem(KEY);
    } catch {
      // No room, or not allowed.
    }
  };
  return {
    runs,
    // Another window may have added to it meanwhile.
    add: (text) => change(withRun(readRuns(kept()), { text, at: Date.now() })),
    forget: () => change([]),
  };
}

function kept(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
