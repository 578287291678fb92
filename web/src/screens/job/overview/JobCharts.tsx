import { useMemo } from "react";
import type { Job, JobHistory } from "../../../api/client";
import { bytes, count, duration, rate, short } from "../../../logic/format";
import { Chart } from "../../../parts/Chart";
import classes from "../job.module.css";
import { restartsOf, withValues } from "../logic/history";
import { spanOf } from "./span";

/** How a job did over time. */
export function JobCharts({ job, history }: { job: Job; history: JobHistory }) {
  const charts = useMemo(() => chartsOf(history), [history]);
  const marks = useMemo(() => restartsOf(history), [history]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the span moves on with the figures, not with each change of the job
  const range = useMemo(() => spanOf(job, history, Date.now()), [history, job.status]);
  return (
    <div className={classes.charts}>
      {charts.map((chart) => (
        <Chart
          key={chart.title}
          title={chart.title}
          times={history.times}
          series={chart.series}
          stack={chart.stack}
          marks={marks}
          range={range}
          sync={`job-${job.id}`}
          gapSeconds={gapOf(job, history)}
        />
      ))}
    </div>
  );
}

/** Moments further apart are not joined: the job stood still, or nothing was counted. */
export function gapOf(job: Job, history: JobHistory): number {
  const interval = Number(job.config.snapshot_interval_ms ?? 0) / 1000;
  return history.step === "minute" ? Math.max(150, 3 * interval) : Math.max(30, 3 * interval);
}

function chartsOf({ job, parts_ms }: JobHistory) {
  const column = (name: string) => job[name] ?? [];
  const parts = withValues(parts_ms).map(([label, values]) => ({ label, values, unit: duration }));
  const epoch = [{ label: "Epoch", values: column("epoch_ms"), unit: duration }];
  return [
    {
      title: "Rows read per second",
      series: [{ label: "Rows", values: column("rows_per_second"), unit: rate }],
    },
    {
      title: "Duration of the longest epoch, by its parts",
      series: parts.length ? parts : epoch,
      stack: parts.length > 0,
    },
    {
      title: "Watermark lag",
      series: [{ label: "Behind the clock", values: column("watermark_lag_ms"), unit: duration }],
    },
    {
      title: "State",
      series: [
        { label: "Rows", values: column("state_rows"), unit: short },
        { label: "Size", values: column("state_bytes"), unit: bytes },
      ],
    },
    {
      title: "Rows dropped since the job was submitted",
      series: [
        { label: "Late", values: column("late_rows"), unit: count },
        { label: "Not parsed, ahead or failed", values: column("bad_rows"), unit: count },
      ],
    },
  ];
}
