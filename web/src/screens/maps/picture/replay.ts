/** What a map holds at any moment that its journal still knows: forward by the new values, back by the old ones. */
import type { JournalEvent } from "../../../api/client";

export type Kept = {
  value: unknown;
  /** When it was written, in milliseconds. */
  at: number;
};

type Change = {
  sequence: number;
  key: string;
  at: number;
  before: unknown;
  after: unknown;
  /** When `before` was written; null if that is not known any more. */
  beforeAt: number | null;
};

/** Holds the entries at one moment, the shown one, and the journal's events before and after it. */
export class Replay {
  /** The entries at the shown moment. */
  readonly entries = new Map<string, Kept>();
  private changes: Change[] = [];
  /** So many of the changes have been applied. */
  private applied = 0;
  private readonly written = new Map<string, number>();

  constructor(readonly most = 100_000) {}

  /** Begin with the entries as they are now, and no events. */
  seed(entries: Iterable<[string, Kept]>) {
    this.entries.clear();
    this.written.clear();
    this.changes = [];
    this.applied = 0;
    for (const [key, kept] of entries) {
      this.entries.set(key, kept);
      this.written.set(key, kept.at);
    }
  }

  get size(): number {
    return this.changes.length;
  }

  /** The moment of the oldest event kept here; null if there is none. */
  get oldest(): number | null {
    return this.changes[0]?.at ?? null;
  }

  get newest(): number | null {
    return this.changes.at(-1)?.at ?? null;
  }

  /** True if the newest that is known is shown. */
  get atEnd(): boolean {
    return this.applied === this.changes.length;
  }

  /** Add newer events. If the newest moment was shown, it still is; the keys that have changed by that. */
  append(events: JournalEvent[]): Set<string> {
    const live = this.atEnd;
    for (const event of events) this.changes.push(this.changeOf(event, this.newest ?? 0));
    const changed = live ? this.toEnd() : new Set<string>();
    const tooMany = this.changes.length - this.most;
    if (tooMany > this.most / 10) {
      while (this.applied < tooMany) changed.add(this.forward());
      this.changes.splice(0, tooMany);
      this.applied -= tooMany;
    }
    return changed;
  }

  /** Add events that are older than all that are known here. What is shown stays. */
  prepend(events: JournalEvent[]) {
    const first = this.changes[0]?.sequence ?? Number.POSITIVE_INFINITY;
    const older = events.filter((event) => event.sequence < first);
    const known = new Map<string, number>();
    const found: Change[] = [];
    for (const event of older) {
      const at = Math.max(Date.parse(event.at), found.at(-1)?.at ?? 0);
      found.push(changed(event, at, known.get(event.key) ?? null));
      known.set(event.key, at);
    }
    this.changes = [...found, ...this.changes];
    this.applied += found.length;
  }

  /** Show the entries as they were at `moment`; the keys that have changed by that. */
  to(moment: number): Set<string> {
    const touched = new Set<string>();
    while (this.next && this.next.at <= moment) touched.add(this.forward());
    while (this.last && this.last.at > moment) touched.add(this.back());
    return touched;
  }

  /** Show the newest that is known. */
  toEnd(): Set<string> {
    return this.to(Number.POSITIVE_INFINITY);
  }

  /** The newest values of a key up to the shown moment, the oldest first, at most so many. */
  past(key: string, most: number): unknown[] {
    const found: unknown[] = [];
    for (let place = this.applied - 1; place >= 0 && found.length < most; place -= 1) {
      const change = this.changes[place];
      if (change?.key !== key) continue;
      if (change.after === undefined) break;
      found.push(change.after);
      if (change.before === undefined) break;
    }
    return found.reverse();
  }

  private get next(): Change | undefined {
    return this.changes[this.applied];
  }

  private get last(): Change | undefined {
    return this.changes[this.applied - 1];
  }

  private forward(): string {
    const change = this.changes[this.applied] as Change;
    this.applied += 1;
    if (change.after === undefined) this.entries.delete(change.key);
    else this.entries.set(change.key, { value: change.after, at: change.at });
    return change.key;
  }

  private back(): string {
    this.applied -= 1;
    const change = this.changes[this.applied] as Change;
    if (change.before === undefined) this.entries.delete(change.key);
    else this.entries.set(change.key, { value: change.before, at: change.beforeAt ?? this.oldest ?? change.at });
    return change.key;
  }

  /** Time never runs backwards here, even where a server's clock was put back. */
  private changeOf(event: JournalEvent, earliest: number): Change {
    const at = Math.max(Date.parse(event.at), earliest);
    const change = changed(event, at, this.written.get(event.key) ?? null);
    this.written.set(event.key, at);
    return change;
  }
}

function changed(event: JournalEvent, at: number, beforeAt: number | null): Change {
  return {
    sequence: event.sequence,
    key: event.key,
    at,
    before: event.kind === "ADDED" ? undefined : event.old_value,
    after: event.kind === "ADDED" || event.kind === "UPDATED" ? event.new_value : undefined,
    beforeAt,
  };
}
