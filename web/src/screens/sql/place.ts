/** Where in a text of statements something is wrong, as the server's sentences say it. */

/** Lines and columns count from 1, columns in whole letters; the last letter belongs to it. */
export type Place = { line: number; column: number; endLine: number; endColumn: number };

const FROM_TO = /\bfrom line (\d+), column (\d+) to line (\d+), column (\d+)/i;
const ONE = /\bline (\d+), column (\d+)/i;

/** The place that a sentence names; null if it names none. */
export function placeIn(sentence: string): Place | null {
  const span = FROM_TO.exec(sentence);
  if (span) {
    const [line = 1, column = 1, endLine = 1, endColumn = 1] = span.slice(1).map(Number);
    return { line, column, endLine, endColumn };
  }
  const one = ONE.exec(sentence);
  if (!one) return null;
  const [line = 1, column = 1] = one.slice(1).map(Number);
  return { line, column, endLine: line, endColumn: column };
}

/** The place as offsets into the text, as JavaScript counts; at least one letter, where the text has one. */
export function offsetsOf(text: string, place: Place): { from: number; to: number } {
  const from = offset(text, place.line, place.column);
  const to = Math.max(from, offset(text, place.endLine, place.endColumn + 1));
  return { from, to };
}

/** The line of the place and below it a caret for each letter that is meant, cut to what a reader sees at once. */
export function pointed(text: string, place: Place): string {
  const letters = [...(text.split("\n")[place.line - 1] ?? "")];
  const first = Math.max(0, Math.min(letters.length, place.column - 1));
  const cut = Math.max(0, first - BEFORE);
  const shown = letters.slice(cut, cut + WIDEST);
  const last = place.endLine > place.line ? letters.length : Math.min(letters.length, place.endColumn);
  const carets = Math.max(1, Math.min(last, cut + WIDEST) - first);
  const lead = cut > 0 ? "…" : "";
  // A tab stays one, so that the caret stands below its letter however wide a tab is.
  const gap = letters.slice(cut, first).map((letter) => (letter === "\t" ? "\t" : " "));
  return `${lead}${shown.join("")}\n${lead && " "}${gap.join("")}${"^".repeat(carets)}`;
}

const BEFORE = 60;
const WIDEST = 100;

function offset(text: string, line: number, column: number): number {
  let begin = 0;
  for (let number = 1; number < line; number++) {
    const end = text.indexOf("\n", begin);
    if (end < 0) return text.length;
    begin = end + 1;
  }
  const end = text.indexOf("\n", begin);
  let at = begin;
  const most = end < 0 ? text.length : end;
  for (let letter = 1; letter < column && at < most; letter++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}
