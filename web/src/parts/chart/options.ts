/** A chart's settings for uPlot. */
import type uPlot from "uplot";

export type Unit = (value: number | null) => string;
export type Mark = { at: number; label: string };
export type Colors = { text: string; grid: string; mark: string; lines: string[]; fills: string[] };

/** The second line of a chart and those after it are told from the first by more than their colours. */
const DASHES: (number[] | undefined)[] = [undefined, [6, 3], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4]];

type Wanted = {
  width: number;
  height: number;
  labels: string[];
  units: Unit[];
  colors: Colors;
  stacked: boolean;
  range: () => [number, number] | null;
  marks: () => Mark[];
  pointed: (index: number | null) => void;
  syncKey: string | undefined;
};

export function optionsOf(wanted: Wanted): uPlot.Options {
  const { colors, units } = wanted;
  const scales = [...new Set(units)];
  const scaleOf = (unit: Unit) => `y${scales.indexOf(unit)}`;
  const axis = {
    stroke: colors.text,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { stroke: colors.grid, width: 1 },
  };
  return {
    width: wanted.width,
    height: wanted.height,
    legend: { show: false },
    padding: [8, scales.length > 1 ? 0 : 12, 0, 0],
    cursor: {
      drag: { x: false, y: false },
      points: { size: 7 },
      ...(wanted.syncKey && { sync: { key: wanted.syncKey, setSeries: false } }),
    },
    scales: {
      x: { time: true, range: (_, least, most) => wanted.range() ?? [least, most] },
      ...Object.fromEntries(scales.map((unit) => [scaleOf(unit), { range: fromZero }])),
    },
    axes: [
      { ...axis, space: 70, size: 32, values: (_, splits) => splits.map(clock(splits)) },
      ...scales.map((unit, index) => ({
        ...axis,
        scale: scaleOf(unit),
        side: index === 0 ? (3 as const) : (1 as const),
        grid: { ...axis.grid, show: index === 0 },
        incrs: unit(1024).endsWith("KiB") ? BYTE_STEPS : stepsFor,
        values: (_: uPlot, splits: number[]) => splits.map((value) => unit(value)),
        size: (_: uPlot, values: string[] | null) => 18 + 7 * Math.max(3, ...(values ?? []).map((text) => text.length)),
      })),
    ],
    series: [
      {},
      ...wanted.labels.map((label, index) => ({
        label,
        scale: scaleOf(units[index] as Unit),
        stroke: colors.lines[index % colors.lines.length],
        width: 1.75,
        dash: wanted.stacked ? undefined : DASHES[index % DASHES.length],
        fill: wanted.stacked ? colors.fills[index % colors.fills.length] : undefined,
        spanGaps: false,
      })),
    ],
    hooks: {
      setCursor: [(plot) => wanted.pointed(plot.cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, wanted.marks(), colors.mark)],
    },
  };
}

const STEPS = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15].flatMap((power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
);
/** Sizes are told in powers of 1,024. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);
const WHOLE_STEPS = STEPS.filter((step) => step >= 1);

/** Where all values are whole, so are the words along the axis. */
function stepsFor(plot: uPlot): number[] {
  const broken = plot.data.slice(1).some((column) => column.some((value) => !Number.isInteger(value ?? 0)));
  return broken ? STEPS : WHOLE_STEPS;
}

/** Axes begin at zero: half of what there was looks like half. */
function fromZero(_: uPlot, least: number | null, most: number | null): [number, number] {
  const low = Math.min(0, least ?? 0);
  const high = most ?? 0;
  return high <= low ? [low, low + 1] : [low, low + (high - low) * 1.08];
}

function clock(splits: number[]): (at: number) => string {
  const step = (splits[1] ?? 0) - (splits[0] ?? 0);
  return (at) =>
    new Date(at * 1000).toLocaleTimeString("sv-SE", step && step < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
}

function drawMarks(plot: uPlot, marks: Mark[], color: string) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.setLineDash([4, 3]);
  for (const mark of marks) {
    const x = plot.valToPos(mark.at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, bbox.top + 4, 4, 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.restore();
}
