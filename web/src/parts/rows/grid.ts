/** The answer of a query as a table. */
import { Written } from "../../logic/exactJson";

export type Answer = { columns: string[][]; rows: unknown[][]; more: boolean };
export type GridRow = { place: number; values: unknown[] };

const NUMBERS = /^(tinyint|smallint|int|integer|bigint|float|real|double|decimal.*)$/i;

/** Rows that know their place: two of them may be equal. */
export function gridRows(answer: Answer): GridRow[] {
  return answer.rows.map((values, place) => ({ place, values }));
}

/** True for types of Spark, and of our SQL, whose values are numbers. */
export function isNumeric(type: string): boolean {
  return NUMBERS.test(type);
}

/** What a value is sorted by: numbers as numbers, all else as its text; nothing stands last. */
export function sortValue(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Written) return Number(value.text);
  return typeof value === "number" ? value : cellText(value);
}

/** A value as it is shown; null is told apart by its cell. */
export function cellText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** How wide a column is: by its head and its first values, within bounds. */
export function widthOf(columns: string[][], rows: GridRow[], column: number): string {
  const head = columns[column]?.join("  ") ?? "";
  const texts = rows.slice(0, 100).map((row) => cellText(row.values[column] ?? "NULL"));
  const longest = Math.max(head.length + 3, ...texts.map((text) => text.length));
  return `minmax(${Math.min(44, Math.max(9, longest + 2))}ch, 1fr)`;
}
