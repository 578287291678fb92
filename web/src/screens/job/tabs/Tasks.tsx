import { Button, Code, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answered, api, type Execution, type Job } from "../../../api/client";
import { keys } from "../../../api/queries";
import { count, duration } from "../../../logic/format";
import { Empty, Loaded } from "../../../parts/Trouble";
import { Folded } from "../Folded";
import classes from "../job.module.css";
import { linesOf, named, skewed } from "../logic/tasks";
import { Peek } from "./Peek";

/** How Spark carries the job out: the tasks of the last epochs, its plan, and rows of a stage. The run is asked each time. */
export function Tasks({ job }: { job: Job }) {
  if (job.status !== "RUNNING") {
    return (
      <Empty title="Nothing is carried out now">
        A run tells of its tasks while it is RUNNING. The tab Overview shows how the job did before.
      </Empty>
    );
  }
  return <OfRun job={job} />;
}

function OfRun({ job }: { job: Job }) {
  const query = useQuery({
    queryKey: keys.job(job.id, "execution", job.version),
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/jobs/{job}/execution", { params: { path: { job: job.id } }, signal })),
    staleTime: 0,
    gcTime: 0,
  });
  return (
    <Loaded query={query} height={400}>
      {(execution) => (
        <Stack>
          <Group>
            <Title order={2} size="h4">
              Tasks of the last epochs
            </Title>
            <Button variant="default" size="xs" loading={query.isFetching} onClick={() => void query.refetch()}>
              Read again
            </Button>
          </Group>
          <TaskTable execution={execution} />
          <Plan execution={execution} />
          <Peek job={job} stages={execution.peekable} />
        </Stack>
      )}
    </Loaded>
  );
}

function TaskTable({ execution }: { execution: Execution }) {
  const lines = linesOf(execution);
  if (lines.length === 0) return <Text size="sm">This run has carried out no epoch yet.</Text>;
  return (
    <>
      <Text size="sm" c="dimmed">
        A stage of Spark takes as long as its slowest task. A skew of 1 means that all tasks take equally long. With a
        large one, look at the rows of the slowest partition: a few keys may have most of them.
      </Text>
      <Table.ScrollContainer minWidth={760} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table aria-label="Tasks" withTableBorder verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Epoch</Table.Th>
              <Table.Th>Stage of Spark</Table.Th>
              <Table.Th>Tasks</Table.Th>
              <Table.Th>Fastest</Table.Th>
              <Table.Th>In the middle</Table.Th>
              <Table.Th>Slowest</Table.Th>
              <Table.Th>Skew</Table.Th>
              <Table.Th>Rows of the slowest, in the middle</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lines.map(({ epoch, stage }) => (
              <Table.Tr key={`${epoch} ${stage.stage}`}>
                <Table.Td>{count(epoch)}</Table.Td>
                <Table.Td className="breaks">
                  {stage.stage}
                  {stage.steps.length > 0 && `: ${stage.steps.join(", ")}`}
                </Table.Td>
                <Table.Td>
                  {count(stage.tasks)}
                  {stage.running > 0 && ` (${count(stage.running)} not ended)`}
                </Table.Td>
                <Table.Td>{duration(stage.shortest_ms)}</Table.Td>
                <Table.Td>{duration(stage.median_ms)}</Table.Td>
                <Table.Td>{duration(stage.longest_ms)}</Table.Td>
                <Table.Td fw={skewed(stage) ? 700 : undefined}>
                  {stage.skew}
                  {skewed(stage) && `: partition ${stage.slowest_partition} keeps the others waiting`}
                </Table.Td>
                <Table.Td>
                  {count(stage.slowest_rows)}, {count(stage.median_rows)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </>
  );
}

function Plan({ execution }: { execution: Execution }) {
  if (!execution.plan) return null;
  return (
    <>
      {execution.operators.length > 0 && (
        <Text size="sm">
          Operators with state, by their number in the plan (<Code>opId</Code>):{" "}
          {execution.operators.map((each) => named(each)).join(", ")}.
        </Text>
      )}
      <Folded label="Spark's physical plan of the last epoch">
        <Code block className={classes.trace} tabIndex={0} role="region" aria-label="Physical plan">
          {execution.plan}
        </Code>
      </Folded>
    </>
  );
}
