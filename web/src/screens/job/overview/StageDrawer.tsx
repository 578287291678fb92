import { Badge, Code, Drawer, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconDatabase } from "@tabler/icons-react";
import { type ReactNode, useMemo } from "react";
import type { Job, JobGraph, JobHistory } from "../../../api/client";
import { bytes, count, percent, rate, short } from "../../../logic/format";
import { Chart } from "../../../parts/Chart";
import { type StageFacts, whatItDoes } from "../../../parts/graph/looks";
import { Empty } from "../../../parts/Trouble";
import { Folded } from "../Folded";
import classes from "../job.module.css";
import { leftOut, number } from "../logic/facts";
import { restartsOf } from "../logic/history";
import { gapOf } from "./JobCharts";
import { spanOf } from "./span";

type Props = {
  job: Job;
  graph: JobGraph;
  stage: string | undefined;
  history: JobHistory | undefined;
  facts: Record<string, StageFacts>;
  onClose: () => void;
};

/** All that is known of one stage. */
export function StageDrawer(props: Props) {
  const { graph, stage, onClose } = props;
  const found = graph.nodes.find((node) => node.name === stage);
  return (
    <Drawer
      opened={stage !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={
        <Text span fw={700} className="breaks">
          {stage}
        </Text>
      }
    >
      {found ? (
        <Stage {...props} node={found} />
      ) : (
        <Empty title="There is no such stage">Version {graph.version} of the job has no stage of this name.</Empty>
      )}
    </Drawer>
  );
}

function Stage({ job, graph, node, history, facts }: Props & { node: JobGraph["nodes"][number] }) {
  const figures = job.progress.stages?.[node.name] ?? {};
  const known = facts[node.name];
  const names = (list: string[]) => (list.length ? list.join(", ") : "none");
  const reads = graph.edges.filter((edge) => edge.target === node.name).map((edge) => edge.source);
  const readers = graph.edges.filter((edge) => edge.source === node.name).map((edge) => edge.target);
  const awaited = job.status === "RUNNING" ? job.progress.waits_for[node.name] : undefined;
  const offset = typeof figures.offset === "string" ? figures.offset : null;
  return (
    <Stack>
      <Group gap="xs">
        <Badge variant="outline" color="var(--mantine-color-text)" radius="sm" tt="none">
          {node.kind}
        </Badge>
        {node.keeps_state && (
          <Badge
            variant="outline"
            color="var(--mantine-color-text)"
            radius="sm"
            tt="none"
            leftSection={<IconDatabase size={12} aria-hidden="true" />}
          >
            keeps state
          </Badge>
        )}
      </Group>
      <Text size="sm" className="breaks">
        {whatItDoes(node)}, defined at <Code>{node.location}</Code>. Reads {names(reads)}; read by {names(readers)}.
      </Text>
      {awaited !== undefined && (
        <Text size="sm" className="breaks">
          It waits for the folder <Code>{awaited}</Code>, which does not exist yet.
        </Text>
      )}
      <dl className={classes.figures}>
        <Figure term="Rows in">{count(number(figures.rows_in))}</Figure>
        <Figure term="Rows out">{count(number(figures.rows_out))}</Figure>
        <Figure term="Now">{rate(known?.rowsPerSecond)}</Figure>
        <Figure term="Rows of state">{count(known?.stateRows)}</Figure>
        <Figure term="Size of state">{bytes(known?.stateBytes)}</Figure>
        <Figure term="Its state's share of the last epoch">{percent(known?.share)}</Figure>
        <Figure term="Late rows dropped">{count(known?.lateRows)}</Figure>
        {leftOut(figures).map(([term, rows]) => (
          <Figure key={term} term={term}>
            {count(rows)}
          </Figure>
        ))}
      </dl>
      {history && <StageCharts job={job} stage={node.name} history={history} />}
      <Title order={3} size="h5">
        Columns
      </Title>
      <Table aria-label="Columns" withTableBorder layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="40%">Name</Table.Th>
            <Table.Th>Type</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {node.columns.map((column) => (
            <Table.Tr key={column.name}>
              <Table.Td className="breaks">{column.name}</Table.Td>
              <Table.Td className="breaks">
                <Code>{column.type}</Code>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {offset && (
        <Folded label="How far it has read">
          <Code block className={classes.trace} tabIndex={0}>
            {pretty(offset)}
          </Code>
        </Folded>
      )}
    </Stack>
  );
}

function Figure({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function StageCharts({ job, stage, history }: { job: Job; stage: string; history: JobHistory }) {
  const charts = useMemo(() => {
    const columns = history.stages[stage] ?? {};
    const series = (name: string, label: string, unit: (value: number | null) => string) =>
      columns[name] ? [{ label, values: columns[name], unit }] : [];
    return [
      {
        title: "Rows per second",
        series: [...series("rows_in_per_second", "In", rate), ...series("rows_out_per_second", "Out", rate)],
      },
      { title: "State", series: [...series("state_rows", "Rows", short), ...series("state_bytes", "Size", bytes)] },
      { title: "Late rows dropped", series: series("late_rows", "Rows", count) },
    ].filter((chart) => chart.series.length > 0);
  }, [history, stage]);
  const marks = useMemo(() => restartsOf(history), [history]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the span moves on with the figures
  const range = useMemo(() => spanOf(job, history, Date.now()), [history, job.status]);
  if (charts.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        Nothing is counted at this stage.
      </Text>
    );
  }
  return charts.map((chart) => (
    <Chart
      key={chart.title}
      title={chart.title}
      times={history.times}
      series={chart.series}
      marks={marks}
      range={range}
      height={140}
      gapSeconds={gapOf(job, history)}
    />
  ));
}

/** JSON as people read it, and at most so much of it. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1).slice(0, 20_000);
  } catch {
    return text.slice(0, 20_000);
  }
}
