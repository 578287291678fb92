import { Group, Paper, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answered, api, type Job } from "../../api/client";
import { keys } from "../../api/queries";
import { rate } from "../../logic/format";
import { pushed, totalBefore, totalRate } from "../../logic/rates";
import { Sparkline } from "../../parts/Chart";

/** Five minutes, a value each second. */
const MOST = 300;
/** Of so many jobs, those that read most, the time before this screen was opened is read. */
const BUSIEST = 20;

async function before(jobs: Job[], signal: AbortSignal): Promise<number[]> {
  const rateOf = (job: Job) => job.progress.rows_per_second;
  const running = jobs.filter((job) => job.status === "RUNNING");
  const busiest = running.sort((a, b) => rateOf(b) - rateOf(a)).slice(0, BUSIEST);
  const end = Date.now() / 1000;
  const query = { step: "second" as const, after: end - MOST };
  const read = (job: Job) =>
    answered(api.GET("/api/v1/jobs/{job}/history", { params: { path: { job: job.id }, query }, signal }));
  // A job that is gone meanwhile has none.
  const found = await Promise.allSettled(busiest.map(read));
  return totalBefore(
    found.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
    end,
    MOST,
  );
}

/** Rows a second of all jobs together, in the last five minutes. */
export function Throughput() {
  const client = useQueryClient();
  const [values, setValues] = useState<number[]>([]);
  useEffect(() => {
    const look = () => {
      const jobs = client.getQueryData<Job[]>(keys.jobs);
      if (jobs) setValues((before) => pushed(before, totalRate(jobs), MOST));
    };
    const ending = new AbortController();
    void before(client.getQueryData<Job[]>(keys.jobs) ?? [], ending.signal).then((past) => {
      if (!ending.signal.aborted) setValues((since) => [...past, ...since].slice(-MOST));
    });
    look();
    const timer = window.setInterval(look, 1000);
    return () => {
      ending.abort();
      window.clearInterval(timer);
    };
  }, [client]);
  return (
    <Paper withBorder p="md" h="100%">
      <Title order={2} size="h5" mb="xs">
        Rows read
      </Title>
      <Group justify="space-between" wrap="nowrap">
        <Text fz="xl" fw={700} className="figure" miw={90}>
          {rate(values.at(-1))}
        </Text>
        <Sparkline
          values={values}
          label="Rows a second, of all jobs, in the last five minutes"
          width={240}
          height={44}
        />
      </Group>
    </Paper>
  );
}
