/** Entries and journals, page by page, for a picture of a whole map. */
import { answered, api, type JournalEvent, type MapEntry } from "../../../api/client";
import { plainPage } from "../journal/pages";

/** So many objects are drawn. */
export const MOST_OBJECTS = 50_000;
/** So many events can be replayed. */
export const MOST_EVENTS = 100_000;
const ENTRIES = 5000;
const EVENTS = 10_000;

export async function journalBounds(map: string): Promise<{ oldest: number; newest: number }> {
  const params = { path: { name: map }, query: { limit: 1 } };
  return answered(api.GET("/api/v1/maps/{name}/journal", { params }));
}

/** Entries by key, until there are none or enough. */
export async function* entryPages(map: string, prefix: string): AsyncGenerator<MapEntry[]> {
  let after: string | undefined;
  for (let read = 0; read < MOST_OBJECTS; ) {
    const query = { prefix, limit: ENTRIES, ...(after === undefined ? {} : { after }) };
    const page = await answered(api.GET("/api/v1/maps/{name}/entries", { params: { path: { name: map }, query } }));
    yield page;
    read += page.length;
    after = page.at(-1)?.key;
    if (page.length < ENTRIES) return;
  }
}

/** The events from `after` up to `last`; of a journal that drops some meanwhile, those after the gap. */
export async function eventsBetween(map: string, after: number, last: number): Promise<JournalEvent[]> {
  let found: JournalEvent[] = [];
  let next = after;
  while (next < last) {
    const page = await plainPage(map, next, Math.min(EVENTS, last - next));
    if (page.lost) found = [];
    found = [...found, ...page.events.filter((event) => event.sequence <= last)];
    const newest = page.events.at(-1)?.sequence;
    if (newest === undefined) break;
    next = newest;
  }
  return found;
}
