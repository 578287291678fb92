/** Entries, as the server gives and takes them. Values travel as the text they are: no digit of a number is lost on the way. */
import { answered, answeredExactly, api, type FoundEntries, type MapEntry, ProblemError } from "../../../api/client";
import { putBody } from "../commands";
import { partOf, pretty } from "../values/jsonText";

export type StoredEntry = {
  key: string;
  /** The value as indented JSON. */
  text: string;
  /** How often it was written. */
  version: number;
  created: string;
  updated: string;
  expires: string | null;
};

/** A part of a map's entries. */
export type EntriesPage = {
  entries: MapEntry[];
  /** The key behind which to go on; null if there is no more. */
  next: string | null;
  /** How many were looked at, where not all were wanted. */
  lookedAt: number;
};

type Wanted = { prefix: string; where: string; after: string | undefined; limit: number };

/** Entries by key, a page of them; with a condition those that fulfil it, as far as the server has looked for them. */
export async function readPage(map: string, wanted: Wanted, signal?: AbortSignal): Promise<EntriesPage> {
  const { prefix, where, after, limit } = wanted;
  const from = { prefix, ...(after === undefined ? {} : { after }) };
  const path = { name: map };
  if (where) {
    const params = { path, query: { ...from, where, limit } };
    const found = await answeredExactly<FoundEntries>(
      api.GET("/api/v1/maps/{name}/search", { params, parseAs: "text", signal }),
    );
    return { entries: found.entries, next: found.stopped_at, lookedAt: found.looked_at };
  }
  const params = { path, query: { ...from, limit: limit + 1 } };
  const found = await answeredExactly<MapEntry[]>(
    api.GET("/api/v1/maps/{name}/entries", { params, parseAs: "text", signal }),
  );
  const entries = found.slice(0, limit);
  return { entries, next: found.length > limit ? (entries.at(-1)?.key ?? null) : null, lookedAt: entries.length };
}

/** The newest of a key; an error with status 404 if there is none. */
export async function readEntry(map: string, key: string, signal?: AbortSignal): Promise<StoredEntry> {
  const params = { path: { name: map }, query: { key } };
  const text = await answered(api.GET("/api/v1/maps/{name}/entry", { params, parseAs: "text", signal }));
  const { version, created, updated, expires } = JSON.parse(text) as StoredEntry;
  return { key, text: pretty(partOf(text, ["value"]) ?? "null"), version, created, updated, expires };
}

/** Write a value if the entry still has this version (0: if there is no such entry); else an error for which `isConflict` holds. */
export async function writeEntry(map: string, key: string, value: string, expected: number): Promise<void> {
  const text = putBody(key, value, expected);
  const body = { entries: {}, expected_version: expected };
  await api.POST("/api/v1/maps/{name}/entries", { params: { path: { name: map } }, body, bodySerializer: () => text });
}

/** Delete an entry if it still has this version. */
export async function deleteEntry(map: string, key: string, version: number): Promise<void> {
  await api.DELETE("/api/v1/maps/{name}/entry", { params: { path: { name: map }, query: { key, version } } });
}

/** True if somebody else has written in the meantime. */
export function isConflict(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 409;
}
