/** How far a search through a map has come, in words. */
import { count } from "../../../logic/format";
import type { EntriesPage } from "./calls";

/** `further`: it went on where another one had stopped. */
export function searchWords({ entries, next, lookedAt }: EntriesPage, further: boolean): string {
  const more = further ? " more" : "";
  const looked = `${count(entries.length)} found among ${count(lookedAt)}${more} ${lookedAt === 1 ? "entry" : "entries"}`;
  return next === null
    ? `${looked}, to the end`
    : `${looked}: stopped at ${next || "the empty key"}, there may be more`;
}
