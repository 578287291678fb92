/** What statements give, line by line as the server sends it, within bounds. */
import { parsedExactly } from "../../logic/exactJson";
import type { GridRow } from "../../parts/rows/grid";

export type Answer = {
  /** Name and type of each; none for a statement that gives no rows. */
  columns: string[][];
  /** Those that are shown. */
  rows: GridRow[];
  /** All that have come. */
  count: number;
  /** Of a stream: the newest rows are shown, of all else the first ones. */
  endless: boolean;
  ended: boolean;
};

export type Fault = { code: string; message: string };

/** So many rows of a statement are shown. */
export const MOST_ROWS = 10_000;
/** So many letters of all rows together are kept: what is beyond is counted alone. */
export const MOST_LETTERS = 32 * 1024 * 1024;
/** So many statements of a text have their answers shown. */
export const MOST_ANSWERS = 200;

type Open = Answer & { sizes: number[] };

/** Gathers the answers of a text of statements. */
export class Answers {
  private readonly open: Open[] = [];
  private letters = 0;
  /** Statements that are carried out, and not shown. */
  hidden = 0;
  fault: Fault | null = null;

  /** One line of the answer. Throws what JSON.parse throws for a line that is none. */
  take(line: string) {
    const last = this.open.at(-1);
    // What is only counted is not read.
    if (last && line.startsWith('{"row":') && !this.wants(last, line)) {
      last.count += 1;
      return;
    }
    const said = parsedExactly(line) as Record<string, unknown>;
    if (Array.isArray(said.row) && last) this.add(last, said.row, line.length);
    else if (Array.isArray(said.columns)) this.begin(said.columns, said.endless === true);
    else if (said.error) this.fault = said.error as Fault;
    else if (last) last.ended = true;
  }

  /** As it is now: what it gives never changes. */
  snapshot(): Answer[] {
    return this.open.map(({ sizes: _, ...answer }) => ({ ...answer, rows: answer.rows.slice() }));
  }

  private wants(answer: Open, line: string): boolean {
    return answer.endless || (answer.rows.length < MOST_ROWS && this.letters + line.length <= MOST_LETTERS);
  }

  private begin(columns: { name: string; type: string }[], endless: boolean) {
    if (this.open.length === MOST_ANSWERS) {
      this.open.shift();
      this.hidden += 1;
    }
    const heads = columns.map(({ name, type }) => [name, type]);
    this.open.push({ columns: heads, rows: [], sizes: [], count: 0, endless, ended: false });
  }

  private add(answer: Open, values: unknown[], letters: number) {
    answer.rows.push({ place: answer.count, values });
    answer.sizes.push(letters);
    answer.count += 1;
    this.letters += letters;
    while (
      answer.endless &&
      (answer.rows.length > MOST_ROWS || this.letters > MOST_LETTERS) &&
      answer.rows.length > 1
    ) {
      answer.rows.shift();
      this.letters -= answer.sizes.shift() ?? 0;
    }
  }
}

/** What is not shown of an answer, in words; null if all is. */
export function notShown(answer: Answer): string | null {
  const missing = answer.count - answer.rows.length;
  if (missing <= 0) return null;
  const rows = `${missing.toLocaleString("en-US")} ${answer.endless ? "older" : "more"} ${missing === 1 ? "row" : "rows"}`;
  return `${rows} ${missing === 1 ? "is" : "are"} not shown.`;
}
