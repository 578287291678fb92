/** What can be done with an entry, as lines for a terminal. */
import { type Command, operands, pathTo, shellLine } from "../../logic/commands";

/** What can name a map, as the server has it: names become part of paths. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_.\- ]{0,199}$/u;

/** The line that makes a map by its first write; null for a name that no map can have. */
export function firstPutLine(map: string): string | null {
  return NAME.test(map) && !/[ .]$/.test(map) ? shellLine(["pitstop", "map", "put", map, "KEY", "VALUE"]) : null;
}

function entryPath(map: string, key: string, more: Record<string, string> = {}): string {
  return `${pathTo("maps", map, "entry")}?${new URLSearchParams({ key, ...more })}`;
}

export function getCommand(map: string, key: string): Command {
  return { cli: ["pitstop", "map", "get", ...operands(map, key)], method: "GET", path: entryPath(map, key) };
}

/** The body of a request that writes a value, which is JSON text and stays as it was written: 1.0 is not made 1. */
export function putBody(key: string, value: string, expected: number): string {
  return `{"entries":{${JSON.stringify(key)}:${value.trim()}},"expected_version":${expected}}`;
}

/** The value is given as JSON text; what is half-written goes into the line as it is, and the server refuses it. */
export function putCommand(map: string, key: string, text: string, expected: number): Command {
  return {
    cli: ["pitstop", "map", "put", "--expect-version", String(expected), ...operands(map, key, text.trim())],
    method: "POST",
    path: pathTo("maps", map, "entries"),
    bodyText: putBody(key, text, expected),
  };
}

export function deleteCommand(map: string, key: string, version: number): Command {
  return {
    cli: ["pitstop", "map", "delete", "--expect-version", String(version), ...operands(map, key)],
    method: "DELETE",
    path: entryPath(map, key, { version: String(version) }),
  };
}

/** Gives the entries whose values fulfil a condition. */
export function searchCommand(map: string, where: string, prefix: string): Command {
  return {
    cli: ["pitstop", "map", "entries", "--prefix", prefix, "--where", where, ...operands(map)],
    method: "GET",
    path: `${pathTo("maps", map, "search")}?${new URLSearchParams({ where, prefix })}`,
  };
}

/** Gives one event of the journal, as long as that keeps it. */
export function eventCommand(map: string, sequence: number): Command {
  const place = { after: String(sequence - 1), limit: "1" };
  return {
    cli: ["pitstop", "map", "journal", "--after", place.after, "--limit", place.limit, ...operands(map)],
    method: "GET",
    path: `${pathTo("maps", map, "journal")}?${new URLSearchParams(place)}`,
  };
}

export function configureCommand(map: string, journal_capacity: number, ttl_seconds: number): Command {
  const settings = ["--journal-capacity", String(journal_capacity), "--ttl-seconds", String(ttl_seconds)];
  return {
    cli: ["pitstop", "map", "configure", ...settings, ...operands(map)],
    method: "PUT",
    path: pathTo("maps", map),
    body: { journal_capacity, ttl_seconds },
  };
}
