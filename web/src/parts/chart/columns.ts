/** What a chart draws, worked out from what it is given. */

export type Values = (number | null)[];

/** Seconds since the epoch, as uPlot counts. */
export function secondsOf(times: string[]): number[] {
  return times.map((time) => Date.parse(time) / 1000);
}

/** From which distance on two moments have nothing to do with each other: five times the usual one, or `least` seconds. */
export function usualGap(times: number[], least: number): number {
  const steps = times.slice(1).map((time, index) => time - (times[index] as number));
  const middle = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)];
  return Math.max(least, 5 * (middle ?? 0));
}

/** The same with a moment without values wherever two moments are further apart than `gap`: the line is broken there. */
export function withGaps(times: number[], columns: Values[], gap: number): { times: number[]; columns: Values[] } {
  const wider: number[] = [];
  const found: Values[] = columns.map(() => []);
  times.forEach((time, index) => {
    const before = times[index - 1];
    if (before !== undefined && time - before > gap) {
      wider.push((time + before) / 2);
      for (const column of found) column.push(null);
    }
    wider.push(time);
    columns.forEach((column, which) => {
      found[which]?.push(known(column[index]));
    });
  });
  return { times: wider, columns: found };
}

/** Each column with all before it on top of it: drawn from the last to the first they stand upon each other. */
export function stacked(columns: Values[]): Values[] {
  const found: Values[] = [];
  for (const column of columns) {
    const below = found.at(-1);
    found.push(
      column.map((value, index) => {
        const base = below?.[index] ?? null;
        return value === null && base === null ? null : (value ?? 0) + (base ?? 0);
      }),
    );
  }
  return found;
}

/** The last, least and greatest of the values that are known; null: none is. */
export function summary(values: Values): { last: number; least: number; most: number } | null {
  let found: { last: number; least: number; most: number } | null = null;
  for (const raw of values) {
    const value = known(raw);
    if (value === null) continue;
    found = found
      ? { last: value, least: Math.min(found.least, value), most: Math.max(found.most, value) }
      : { last: value, least: value, most: value };
  }
  return found;
}

/** Points of a small line in a box, in pieces where values lack; values may be fewer than two. */
export function sparkPaths(values: Values, width: number, height: number): string[] {
  const all = summary(values);
  if (!all) return [];
  const span = all.most - all.least || 1;
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const pieces: string[][] = [];
  let open = false;
  values.forEach((raw, index) => {
    const value = known(raw);
    if (value === null) {
      open = false;
      return;
    }
    // One pixel stays free on all sides: the line has a width.
    const y = height - 1 - ((value - all.least) / span) * (height - 2);
    const point = `${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    if (open) pieces.at(-1)?.push(point);
    else pieces.push([point]);
    open = true;
  });
  return pieces.map((points) => `M ${points.length === 1 ? `${points[0]} L ${points[0]}` : points.join(" L ")}`);
}

function known(value: number | null | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
