/** Entries, as the server gives and takes them. Values travel as the text they are: no digit of a number is lost on the way. */
import { answered, api, ProblemError } from "../../../api/client";
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
