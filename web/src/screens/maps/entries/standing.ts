/** What became of an entry while somebody writes a new value for it. */
import type { StoredEntry } from "./calls";

export type Standing = "same" | "newer" | "deleted";

/** `stored` is the entry as it is now; null if it is gone. One that was deleted and made anew counts its versions from 1 again. */
export function standingOf(base: StoredEntry, stored: StoredEntry | null): Standing {
  if (!stored) return "deleted";
  return stored.version === base.version && stored.created === base.created ? "same" : "newer";
}
