/** Figures over time. */
import "uplot/dist/uPlot.min.css";
import { Center, Group, Text, useComputedColorScheme, useMantineTheme, VisuallyHidden } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import UPlot from "uplot";
import classes from "./chart/chart.module.css";
import { secondsOf, sparkPaths, stacked, summary, usualGap, type Values, withGaps } from "./chart/columns";
import { type Colors, optionsOf, type Unit } from "./chart/options";

type Series = { label: string; values: Values; unit: Unit };
type Props = {
  title: string;
  times: string[];
  series: Series[];
  height?: number;
  /** Seconds since the epoch: the span that is shown even where there are no figures. */
  range?: [number, number];
  /** Moments that are worth a line, such as restarts. */
  marks?: { at: string; label: string }[];
  /** Series stand upon each other: their sum is what counts. */
  stack?: boolean;
  /** Charts with the same key point at the same moment. */
  sync?: string;
  /** Moments further apart than so many seconds are not joined. */
  gapSeconds?: number;
};

const NAMES = ["cyan", "orange", "grape", "lime", "pink", "indigo", "yellow", "teal"];
const LEAST_GAP = 30;

export function Chart(props: Props) {
  const { title, series, height = 180, stack = false, sync } = props;
  const { ref, width } = useElementSize<HTMLDivElement>();
  const colors = useColors();
  const plot = useRef<UPlot | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);

  const times = useMemo(() => secondsOf(props.times), [props.times]);
  const drawn = useMemo(() => {
    const gap = props.gapSeconds ?? usualGap(times, LEAST_GAP);
    return withGaps(
      times,
      series.map((each) => each.values),
      gap,
    );
  }, [times, series, props.gapSeconds]);
  const data = useMemo(() => {
    const columns = stack ? stacked(drawn.columns).reverse() : drawn.columns;
    return [drawn.times, ...columns] as UPlot.AlignedData;
  }, [drawn, stack]);
  const latest = useRef({ data, range: props.range, marks: props.marks ?? [] });
  latest.current = { data, range: props.range, marks: props.marks ?? [] };

  const shown = useRef(series);
  shown.current = series;
  const shape = series.map((each) => each.label).join("\n");
  const roomy = width > 0 && drawn.times.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chart is made anew only if it is another one; data and size follow below
  useEffect(() => {
    if (!host.current || !roomy) return;
    const order = shown.current.map((_, index) => index);
    if (stack) order.reverse();
    const options = optionsOf({
      width,
      height,
      labels: order.map((index) => shown.current[index]?.label ?? ""),
      units: order.map((index) => shown.current[index]?.unit ?? String),
      colors: {
        ...colors,
        lines: order.map((index) => pick(colors.lines, index)),
        fills: order.map((index) => pick(colors.fills, index)),
      },
      stacked: stack,
      range: () => latest.current.range ?? null,
      marks: () => latest.current.marks.map((mark) => ({ ...mark, at: Date.parse(mark.at) / 1000 })),
      pointed: setPointed,
      syncKey: sync,
    });
    const made = new UPlot(options, latest.current.data, host.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [shape, colors, roomy, height, stack, sync]);
  useEffect(() => plot.current?.setData(data), [data]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another span is drawn when it is another one, not when it is another object
  useEffect(
    () => plot.current?.setData(latest.current.data),
    [props.range?.[0], props.range?.[1], props.marks?.length],
  );
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height });
  }, [width, height]);

  const last = drawn.times.length - 1;
  const place = pointed ?? last;
  const at = drawn.times[place];
  const walk = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      PageUp: -20,
      PageDown: 20,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    const chart = plot.current;
    if (step === undefined || !chart) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(last, place + step));
    chart.setCursor({ left: chart.valToPos(drawn.times[next] ?? 0, "x"), top: chart.bbox.height / 4 });
  };
  const values = series.map((each, index) => {
    const value = pointed === null ? (summary(each.values)?.last ?? null) : (drawn.columns[index]?.[place] ?? null);
    return { label: each.label, text: each.unit(value) };
  });
  const said = values.map((value) => `${value.label} ${value.text}`).join(", ");

  return (
    <figure className={classes.figure} ref={ref} aria-label={title}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text component="figcaption" fw={600} size="sm">
          {title}
        </Text>
        <Text size="xs" c="dimmed" className="figure">
          {pointed !== null && at !== undefined ? timeOf(at) : ""}
        </Text>
      </Group>
      {last >= 0 ? (
        <div
          ref={host}
          className={classes.plot}
          style={{ height }}
          role="slider"
          tabIndex={0}
          aria-label={`${title}, by time`}
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={place}
          aria-valuetext={at === undefined ? "" : `${timeOf(at)}: ${said}`}
          onKeyDown={walk}
          onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
        />
      ) : (
        <Center h={height}>
          <Text c="dimmed" size="sm">
            No figures for this time.
          </Text>
        </Center>
      )}
      <ul className={classes.legend}>
        {values.map((value, index) => (
          <li key={value.label}>
            <span className={classes.swatch} style={{ borderColor: pick(colors.lines, index) }} aria-hidden="true" />
            {value.label}: {value.text}
          </li>
        ))}
      </ul>
      <VisuallyHidden>
        {series.map((each) => (
          <p key={each.label}>{inWords(each)}</p>
        ))}
        {props.marks?.map((mark) => (
          <p key={mark.at}>
            {mark.label} at {timeOf(Date.parse(mark.at) / 1000)}
          </p>
        ))}
      </VisuallyHidden>
    </figure>
  );
}

/** A small line without axes, beside a figure that says what it is. */
export function Sparkline(props: { values: Values; label: string; width?: number; height?: number }) {
  const { values, label, width = 120, height = 28 } = props;
  return (
    <svg
      role="img"
      aria-label={label}
      className={classes.spark}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      {sparkPaths(values, width, height).map((path) => (
        <path
          key={path}
          d={path}
          fill="none"
          stroke="var(--mantine-color-anchor)"
          strokeWidth={1.5}
          strokeLinecap="round"
        />
      ))}
    </svg>
  );
}

function inWords({ label, values, unit }: Series): string {
  const found = summary(values);
  if (!found) return `${label}: no figures`;
  return `${label}: last ${unit(found.last)}, least ${unit(found.least)}, most ${unit(found.most)}`;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString("sv-SE");
}

function pick(colors: string[], index: number): string {
  return colors[index % colors.length] ?? "";
}

/** Canvases know no variables: the colours as they are now. */
function useColors(): Colors {
  const theme = useMantineTheme();
  const dark = useComputedColorScheme("light") === "dark";
  return useMemo(() => {
    const shade = dark ? 4 : 8;
    const lines = NAMES.map((name) => theme.colors[name]?.[shade] ?? "#888888");
    return {
      text: dark ? "#b4b8bd" : "#495057",
      grid: dark ? "#3a3d42" : "#e3e6ea",
      mark: dark ? "#ff8787" : "#c92a2a",
      lines,
      fills: NAMES.map((name) => theme.colors[name]?.[dark ? 8 : 3] ?? "#888888"),
    };
  }, [theme, dark]);
}
