/** The lines of a log: read on at its end, bounded, told apart. */

/** So many of the newest lines are kept. */
export const KEEP_LINES = 5000;
/** From the end of a log so much is read at first, in bytes. */
export const TAIL_BYTES = 512 * 1024;

export type Line = { number: number; raw: string };
export type Lines = {
  lines: Line[];
  /** Where the first line begins and the next one will, in bytes. */
  from: number;
  next: number;
  /** Lines that were read and are shown no more, and bytes that the server had no more when they were asked for. */
  forgotten: number;
  lostBytes: number;
};
export type Page = { lines: string[]; next: number; lost: number };

export function emptyLines(at: number): Lines {
  return { lines: [], from: at, next: at, forgotten: 0, lostBytes: 0 };
}

const encoder = new TextEncoder();

/** With a page more at the end. `cutFirst`: reading began within a line, whose rest says nothing. */
export function appended(known: Lines, page: Page, cutFirst = false): Lines {
  const whole = cutFirst && page.lost === 0 ? page.lines.slice(1) : page.lines;
  const first = (known.lines.at(-1)?.number ?? 0) + 1;
  const all = [...known.lines, ...whole.map((raw, index) => ({ number: first + index, raw }))];
  const gone = all.slice(0, Math.max(0, all.length - KEEP_LINES));
  const begin = known.lines.length ? known.from : page.next - sizeOf(whole);
  return {
    lines: all.slice(gone.length),
    from: begin + sizeOf(gone.map((line) => line.raw)),
    next: page.next,
    forgotten: known.forgotten + gone.length,
    lostBytes: known.lostBytes + (cutFirst ? 0 : page.lost),
  };
}

/** With lines from before its first one; the newest give way. */
export function prepended(known: Lines, earlier: string[]): Lines {
  const first = (known.lines[0]?.number ?? 1) - earlier.length;
  const all = [...earlier.map((raw, index) => ({ number: first + index, raw })), ...known.lines];
  const given = all.slice(KEEP_LINES).map((line) => line.raw);
  return {
    ...known,
    lines: all.slice(0, KEEP_LINES),
    from: known.from - sizeOf(earlier),
    next: known.next - sizeOf(given),
    forgotten: Math.max(0, known.forgotten - earlier.length),
  };
}

/** Of pages that were read from `start` on, the whole lines that begin before `until`. */
export function linesBefore(pages: Page[], start: number, until: number): string[] {
  const found: string[] = [];
  pages.forEach((page, index) => {
    let at = page.next - sizeOf(page.lines);
    const cut = index === 0 && start > 0 && page.lost === 0;
    page.lines.forEach((line, place) => {
      if (at < until && !(cut && place === 0)) found.push(line);
      at += sizeOf([line]);
    });
  });
  return found;
}

/** The size of lines in the log, with their ends. */
function sizeOf(lines: string[]): number {
  return lines.reduce((sum, line) => sum + encoder.encode(line).length + 1, 0);
}

export type Told = {
  time: string | null;
  level: string | null;
  logger: string | null;
  text: string;
};

/** A line as people read it: ours are JSON, what libraries print may be anything. */
export function told(raw: string): Told {
  if (raw.startsWith("{")) {
    try {
      const {
        time,
        level,
        logger,
        msg,
        error,
        thread: _thread,
        job: _job,
        run: _run,
        ...facts
      } = JSON.parse(raw) as Record<string, unknown>;
      if (typeof msg === "string") {
        const more = Object.entries(facts).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
        return {
          time: typeof time === "string" ? time.replace("T", " ").replace(",", ".") : null,
          level: typeof level === "string" ? level : null,
          logger: typeof logger === "string" ? logger : null,
          text: msg + more.join("") + (typeof error === "string" ? `\n${error}` : ""),
        };
      }
    } catch {
      // It only looked like JSON.
    }
  }
  return { time: null, level: null, logger: null, text: raw };
}

const GRAVE: Record<string, number> = {
  TRACE: 0,
  DEBUG: 1,
  INFO: 2,
  WARN: 3,
  WARNING: 3,
  ERROR: 4,
  CRITICAL: 5,
  FATAL: 5,
};

/** How grave a level is; what says nothing is as grave as INFO. */
export function gravity(level: string | null): number {
  return GRAVE[(level ?? "").toUpperCase()] ?? 2;
}

/** The lines with this text in them, and at least so grave. */
export function matchingLines(lines: Line[], text: string, least: number): Line[] {
  const wanted = text.toLowerCase();
  if (!wanted && least === 0) return lines;
  return lines.filter(
    (line) =>
      (!wanted || line.raw.toLowerCase().includes(wanted)) && (least === 0 || gravity(told(line.raw).level) >= least),
  );
}
