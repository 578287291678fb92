/** Which update of a job this tab looks at: kept over leaving the page and reading it anew. */
import { useState } from "react";

export type Remembered = {
  /** Number of the job's last event before it. */
  after: number;
  watchSeconds: number;
  suspended: boolean;
  /** The version that it updates. */
  previous: number;
};

/** What this tab remembers of an update of that job, and how to change it. */
export function useRemembered(job: string): [Remembered | null, (next: Remembered | null) => void] {
  const key = `pitstop.update.${job}`;
  const [remembered, setRemembered] = useState(() => readRemembered(window.sessionStorage.getItem(key)));
  const change = (next: Remembered | null) => {
    if (next) window.sessionStorage.setItem(key, JSON.stringify(next));
    else window.sessionStorage.removeItem(key);
    setRemembered(next);
  };
  return [remembered, change];
}

/** What was written down, if it has the form that this page writes. */
export function readRemembered(text: string | null): Remembered | null {
  try {
    const found = JSON.parse(text ?? "null");
    const whole = typeof found?.suspended === "boolean";
    const numbers = [found?.after, found?.watchSeconds, found?.previous];
    return whole && numbers.every((value) => typeof value === "number") ? found : null;
  } catch {
    return null;
  }
}
