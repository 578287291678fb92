/** What differs between two snapshots, a line a value: of JSON only the parts that differ. */

export type Difference = { what: string; a: unknown; b: unknown };
export type DifferenceRow = {
  what: string;
  a: string;
  b: string;
  /** By how much a number has grown; null of what is none. */
  grown: number | null;
  /** Of a value with parts: those that differ. */
  parts: { path: string; a: string; b: string }[];
};

export const ABSENT = "–";

/** The rows of a table of these differences. */
export function rowsOf(differences: Difference[]): DifferenceRow[] {
  return differences.map(({ what, a, b }) => {
    const parts = isTree(a) && isTree(b) ? partsOf(parsed(a), parsed(b), []) : [];
    return {
      what,
      a: textOf(what, a),
      b: textOf(what, b),
      grown: typeof a === "number" && typeof b === "number" ? b - a : null,
      parts: parts.map((part) => ({ path: part.path.join(" · "), a: plain(part.a), b: plain(part.b) })),
    };
  });
}

type Part = { path: string[]; a: unknown; b: unknown };

function partsOf(a: unknown, b: unknown, path: string[]): Part[] {
  if (!isRecord(a) || !isRecord(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ path, a, b }];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names.flatMap((name) => {
    const has = Object.hasOwn(a, name) && Object.hasOwn(b, name);
    if (has) return partsOf(a[name], b[name], [...path, name]);
    return [
      { path: [...path, name], a: Object.hasOwn(a, name) ? a[name] : null, b: Object.hasOwn(b, name) ? b[name] : null },
    ];
  });
}

/** Moments come as ISO 8601 text in UTC that does not say so. */
const MOMENTS = new Set(["created", "watermark"]);

function textOf(what: string, value: unknown): string {
  if (MOMENTS.has(what) && typeof value === "string" && !/Z$|[+-]\d\d:\d\d$/.test(value)) return `${value}Z`;
  return plain(value);
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return ABSENT;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function isTree(value: unknown): boolean {
  return isRecord(parsed(value));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
