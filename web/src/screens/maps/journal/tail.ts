/** The newest events of a journal, as many as are worth drawing. */
import type { JournalEvent } from "../../../api/client";

export type Page = { events: JournalEvent[]; lost: number; newest: number };
export type Tail = {
  /** The newest first. */
  events: JournalEvent[];
  /** The sequence up to which the journal has been read. */
  after: number;
  /** Events that came in a burst too large to draw. */
  notShown: number;
  /** Events that the journal no longer kept when they were to be read. */
  lost: number;
};

/** So many events are drawn. */
export const KEPT = 2000;
/** So many are shown to begin with. */
export const FIRST = 200;
/** So far back the journal is searched for keys that begin so. */
export const SEARCHED = 100_000;

export function begun(after: number): Tail {
  return { events: [], after, notShown: 0, lost: 0 };
}

/** Where to begin: at a sequence that was asked for, far back if keys are looked for, else at the newest few. */
export function startOf(journal: { oldest: number; newest: number }, from: number | null, prefix: string): number {
  if (from !== null) return Math.max(0, Math.min(from - 1, journal.newest));
  return Math.max(0, journal.oldest - 1, journal.newest - (prefix ? SEARCHED : FIRST));
}

/** True if one has asked for a sequence, and as many events as are drawn have been read from there: no more is read. */
export function isFull(tail: Tail, from: number | null): boolean {
  return from !== null && tail.events.length >= KEPT;
}

/** Leave out what could not be drawn anyway, if far more has been written than that. */
export function caughtUp(tail: Tail, newest: number): Tail {
  const ahead = newest - tail.after - KEPT;
  return ahead > 0 ? { ...tail, after: tail.after + ahead, notShown: tail.notShown + ahead } : tail;
}

/** With one page more of the journal, of which only keys that begin so are kept. */
export function taken(tail: Tail, page: Page, prefix: string): Tail {
  const fresh = page.events.filter((event) => event.key.startsWith(prefix)).reverse();
  return {
    events: fresh.length ? [...fresh, ...tail.events].slice(0, KEPT) : tail.events,
    after: page.events.at(-1)?.sequence ?? tail.after,
    notShown: tail.notShown + Math.max(0, fresh.length - KEPT),
    lost: tail.lost + page.lost,
  };
}
