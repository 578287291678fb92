import { Grid, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useCluster, useJobs } from "../../api/queries";
import { troubles } from "../../logic/problems";
import { byState } from "../../logic/rates";
import { PlaceLink } from "../../parts/links";
import { StateChip } from "../../parts/StateChip";
import { TimesAsControl } from "../../parts/TimesAs";
import { Empty, Loaded } from "../../parts/Trouble";
import { useNow } from "../../parts/When";
import { Members } from "./Members";
import { RecentChanges } from "./RecentChanges";
import { Throughput } from "./Throughput";
import { TroubleList } from "./TroubleList";

/** What needs somebody, before everything else; then how it goes altogether. */
export function Overview() {
  const jobs = useJobs();
  return (
    <Stack gap="lg">
      <Group justify="space-between">
        <Title order={1} size="h2">
          Overview
        </Title>
        <TimesAsControl />
      </Group>
      <Loaded query={jobs}>
        {(found) =>
          found.length === 0 ? (
            <Empty
              title="No job yet"
              command={"pitstop submit my_job.py\n# or, with the example of a fleet:\nmake demo"}
            >
              A job is a Python file with a pipeline. Submit one here, or from a terminal:{" "}
              <PlaceLink to="/submit">submit a job</PlaceLink>
            </Empty>
          ) : (
            <Content />
          )
        }
      </Loaded>
    </Stack>
  );
}

function Content() {
  const jobs = useJobs().data ?? [];
  const cluster = useCluster().data;
  const found = troubles(jobs, useNow());
  return (
    <>
      <TroubleList troubles={found} />
      <Grid>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Paper withBorder p="md" h="100%">
            <Title order={2} size="h5" mb="xs">
              Jobs
            </Title>
            <Group gap="sm">
              {[...byState(jobs)].map(([state, number]) => (
                <PlaceLink
                  key={state}
                  to="/jobs"
                  search={{ status: state }}
                  underline="never"
                  aria-label={`${number} ${state}`}
                >
                  <Group gap={6} wrap="nowrap">
                    <Text span fw={700} className="figure" c="var(--mantine-color-text)">
                      {number}
                    </Text>
                    <StateChip state={state} />
                  </Group>
                </PlaceLink>
              ))}
            </Group>
          </Paper>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Throughput />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>{cluster && <Members cluster={cluster} />}</Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <RecentChanges />
        </Grid.Col>
      </Grid>
    </>
  );
}
