/** What may stand where somebody types in a text of statements. */
import { FUNCTIONS, quotedName, TYPES, WORDS } from "./words";

export type Names = {
  /** Mappings and views. */
  tables: string[];
  /** Of a mapping, in their order. */
  columns: Record<string, string[]>;
  jobs: string[];
  snapshots: string[];
};

export type Kind = "keyword" | "type" | "function" | "table" | "column" | "job" | "snapshot";
export type Offer = { text: string; kind: Kind; of?: string };
export type Offers = {
  /** How much of what stands before belongs to it already. */
  typed: number;
  offers: Offer[];
};

export const INFORMATION = ["mappings", "columns", "views", "jobs", "snapshots"];
const OF_TABLES = /^(FROM|JOIN|INTO|TABLE|MAPPING|VIEW)$/;

/** What fits behind `before`; null within a text, a comment or a number. `all` is the whole text, for the names in it. */
export function offersAt(before: string, all: string, names: Names): Offers | null {
  const code = tail(before);
  if (code === null) return null;
  const typed = /(?:"(?:[^"]|"")*|[A-Za-z_]\w*)?$/.exec(code)?.[0] ?? "";
  const rest = code.slice(0, code.length - typed.length);
  if (/\d$/.test(rest)) return null;
  const owner = /(?:"((?:[^"]|"")+)"|([A-Za-z_]\w*))\s*\.\s*$/.exec(rest);
  const offers = (texts: string[], kind: Kind, of?: string): Offer[] =>
    texts.map((text) => ({ text: quotedName(text), kind, ...(of === undefined ? {} : { of }) }));
  if (owner) {
    const name = owner[1]?.replaceAll('""', '"') ?? owner[2] ?? "";
    if (name.toLowerCase() === "information_schema") {
      // They are read as names there, and need no quotes.
      return { typed: typed.length, offers: INFORMATION.map((text) => ({ text, kind: "table" })) };
    }
    const table = names.columns[name] ? name : aliased(all, name);
    return { typed: typed.length, offers: offers(names.columns[table] ?? [], "column", table) };
  }
  const word = /([A-Za-z_]+)[\s(]+$/.exec(rest)?.[1]?.toUpperCase() ?? "";
  const before2 = /([A-Za-z_]+)\s+([A-Za-z_]+)\s+$/.exec(rest)?.slice(1).join(" ").toUpperCase() ?? "";
  if (word === "JOB" || /\bJOB IF EXISTS$/i.test(rest.trim().replaceAll(/\s+/g, " "))) {
    return { typed: typed.length, offers: offers(names.jobs, "job") };
  }
  if (word === "SNAPSHOT" && before2 !== "REPLACE SNAPSHOT") {
    return { typed: typed.length, offers: offers(names.snapshots, "snapshot") };
  }
  if (OF_TABLES.test(word)) {
    const more: Offer[] = [{ text: "information_schema", kind: "table" }];
    if (word === "FROM" || word === "JOIN")
      more.push({ text: "SNAPSHOT", kind: "keyword" }, { text: "TABLE(", kind: "keyword" });
    return { typed: typed.length, offers: [...offers(names.tables, "table"), ...more] };
  }
  if (typed === "") return { typed: 0, offers: [] };
  const columns = new Map<string, string>();
  for (const table of read(all, names)) {
    for (const column of names.columns[table] ?? []) if (!columns.has(column)) columns.set(column, table);
  }
  return {
    typed: typed.length,
    offers: [
      ...[...columns].flatMap(([column, table]) => offers([column], "column", table)),
      ...offers(names.tables, "table"),
      ...WORDS.map((text): Offer => ({ text, kind: "keyword" })),
      ...TYPES.map((text): Offer => ({ text, kind: "type" })),
      ...FUNCTIONS.map((text): Offer => ({ text, kind: "function" })),
    ],
  };
}

/** Tables that the text names; all, if it names none. */
function read(all: string, names: Names): string[] {
  const known = Object.keys(names.columns);
  const named = known.filter((table) => all.includes(quotedName(table)));
  return named.length ? named : known;
}

/** The table that an alias stands for in the text; the alias itself, if none is found. */
function aliased(all: string, alias: string): string {
  const name = quotedName(alias).replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  const found = new RegExp(
    `(?:FROM|JOIN)\\s+(?:"((?:[^"]|"")+)"|([A-Za-z_]\\w*))\\s+(?:AS\\s+)?${name}(?!\\w)`,
    "i",
  ).exec(all);
  return found?.[1]?.replaceAll('""', '"') ?? found?.[2] ?? alias;
}

/** The text without what stands in comments and texts; null if its end is within one. */
function tail(before: string): string | null {
  let open: string | null = null;
  const code = before.replaceAll(
    /--[^\n]*(\n|$)|\/\*[\s\S]*?(\*\/|$)|'(?:[^']|'')*('|$)/g,
    (found, end1, end2, end3) => {
      const end: string = end1 ?? end2 ?? end3 ?? "";
      open = end === "" ? found : open;
      return found.startsWith("'") ? "''" : " ";
    },
  );
  return open === null ? code : null;
}
