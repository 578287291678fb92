import { Group, Stack, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { StageVerdict } from "../api/client";
import classes from "./ReportTable.module.css";
import { type AnyReport, counted, inOrder, isRefused, partitionsSentence, ruleSentence, waySentence } from "./report";
import { VerdictBadge } from "./VerdictBadge";

type Props = {
  report: AnyReport;
  label?: string;
  /** What can be done about a line, shown below it. */
  remedy?: (line: StageVerdict) => ReactNode;
};

/** A compatibility report: a line a stage with what becomes of its state, what is refused first. */
export function ReportTable({ report, label = "What becomes of each stage's state", remedy }: Props) {
  const partitions = partitionsSentence(report);
  return (
    <Stack gap="xs">
      <Group gap="xs">
        {counted(report.lines).map(([verdict, count]) => (
          <VerdictBadge key={verdict} verdict={verdict} count={count} />
        ))}
        <Text size="sm" fw={isRefused(report) ? 700 : undefined}>
          {report.lines.length ? waySentence(report) : "Nothing to restore: neither version keeps state."}
          {partitions && ` ${partitions}`}
        </Text>
      </Group>
      {report.lines.length > 0 && (
        <Table withTableBorder verticalSpacing="xs" className={classes.report} aria-label={label}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th className={classes.stage}>Stage</Table.Th>
              <Table.Th>What becomes of it</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {inOrder(report.lines).map((line) => (
              <Line key={`${line.stage} ${line.verdict} ${line.detail}`} line={line} remedy={remedy?.(line)} />
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  );
}

function Line({ line, remedy }: { line: StageVerdict; remedy: ReactNode }) {
  const sentence = ruleSentence(line.rule);
  return (
    <Table.Tr data-verdict={line.verdict}>
      <Table.Th scope="row" className="breaks">
        {line.stage}
      </Table.Th>
      <Table.Td>
        <Group gap="xs" align="baseline">
          <VerdictBadge verdict={line.verdict} />
          <Text size="sm" className={`breaks ${classes.detail}`}>
            {line.detail}
          </Text>
        </Group>
        {line.rule && (
          <Text size="xs" c="dimmed" mt={2}>
            Rule {line.rule}
            {sentence && `: ${sentence}`}
          </Text>
        )}
        {remedy}
      </Table.Td>
    </Table.Tr>
  );
}
