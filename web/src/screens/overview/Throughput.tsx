import { Group, Paper, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Job } from "../../api/client";
import { keys } from "../../api/queries";
import { rate } from "../../logic/format";
import { pushed, totalRate } from "../../logic/rates";
import { Sparkline } from "../../parts/Chart";

/** Five minutes, a value each second. */
const MOST = 300;

/** Rows a second of all jobs together, since this screen was opened. */
export function Throughput() {
  const client = useQueryClient();
  const [values, setValues] = useState<number[]>([]);
  useEffect(() => {
    const look = () => {
      const jobs = client.getQueryData<Job[]>(keys.jobs);
      if (jobs) setValues((before) => pushed(before, totalRate(jobs), MOST));
    };
    look();
    const timer = window.setInterval(look, 1000);
    return () => window.clearInterval(timer);
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
          label="Rows a second, of all jobs, since this page was opened"
          width={240}
          height={44}
        />
      </Group>
    </Paper>
  );
}
