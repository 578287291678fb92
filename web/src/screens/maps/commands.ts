/** What can be done with an entry, as lines for a terminal. */
import { type Command, pathTo } from "../../logic/commands";

/** Words that may begin with a dash stand behind two of them. */
function words(...found: string[]): string[] {
  return found.some((word) => word.startsWith("-")) ? ["--", ...found] : found;
}

function entryPath(map: string, key: string, more: Record<string, string> = {}): string {
  return `${pathTo("maps", map, "entry")}?${new URLSearchParams({ key, ...more })}`;
}

export function getCommand(map: string, key: string): Command {
  return { cli: ["pitstop", "map", "get", ...words(map, key)], method: "GET", path: entryPath(map, key) };
}

/** The value is given as JSON text; text that is none goes into the line as it is. */
export function putCommand(map: string, key: string, text: string, expected: number): Command {
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    // Half-written: the line shows it, the server refuses it.
  }
  return {
    cli: ["pitstop", "map", "put", "--expect-version", String(expected), ...words(map, key, text.trim())],
    method: "POST",
    path: pathTo("maps", map, "entries"),
    body: { entries: { [key]: value }, expected_version: expected },
  };
}

export function deleteCommand(map: string, key: string, version: number): Command {
  return {
    cli: ["pitstop", "map", "delete", "--expect-version", String(version), ...words(map, key)],
    method: "DELETE",
    path: entryPath(map, key, { version: String(version) }),
  };
}

export function configureCommand(map: string, journal_capacity: number, ttl_seconds: number): Command {
  const settings = ["--journal-capacity", String(journal_capacity), "--ttl-seconds", String(ttl_seconds)];
  return {
    cli: ["pitstop", "map", "configure", ...settings, ...words(map)],
    method: "PUT",
    path: pathTo("maps", map),
    body: { journal_capacity, ttl_seconds },
  };
}
