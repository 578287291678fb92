import { Box, Code, Group, Select, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { answered, api, type JobGraph, type SnapshotManifest } from "../../api/client";
import { useSnapshots } from "../../api/queries";
import { bytes, count, exact } from "../../logic/format";
import { CopyAs } from "../../parts/CopyAs";
import { ReportTable } from "../../parts/ReportTable";
import type { AnyReport } from "../../parts/report";
import { Loaded } from "../../parts/Trouble";
import { graphOfPlan } from "../../parts/version/plan";
import { TwoPlans } from "../../parts/version/TwoPlans";
import { comparison } from "./commands";
import { type DifferenceRow, rowsOf } from "./differences";
import { useManifest } from "./manifest";
import classes from "./snapshots.module.css";

type Props = {
  manifest: SnapshotManifest;
  graph: JobGraph;
  other: string | null;
  onOther: (other: string | undefined) => void;
};

/** Two snapshots: all that differs, and what would become of this one's state under the other's pipeline. */
export function Compare({ manifest, graph, other, onOther }: Props) {
  const snapshots = useSnapshots().data ?? [];
  const names = snapshots.map((snapshot) => snapshot.name).filter((name) => name !== manifest.name);
  return (
    <Stack>
      <Group align="end" gap={4}>
        <Select
          label="The other snapshot"
          placeholder="Choose one"
          data={other && !names.includes(other) ? [other, ...names] : names}
          value={other}
          onChange={(next) => onOther(next ?? undefined)}
          searchable
          nothingFoundMessage="No snapshot is called so"
          miw={260}
        />
        {other && <CopyAs label="the comparison" command={comparison(manifest.name, other)} />}
      </Group>
      {other ? (
        <Compared manifest={manifest} graph={graph} other={other} />
      ) : (
        <Text c="dimmed">
          {names.length ? "Choose the snapshot to compare it with." : "There is no other snapshot."}
        </Text>
      )}
    </Stack>
  );
}

function Compared({ manifest, graph, other }: { manifest: SnapshotManifest; graph: JobGraph; other: string }) {
  const created = useSnapshots().data?.find((snapshot) => snapshot.name === other)?.created;
  const found = useQuery({
    queryKey: ["snapshot", manifest.name, "diff", manifest.created, other, created],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/snapshots/{name}/diff", {
          params: { path: { name: manifest.name }, query: { other } },
          signal,
        }),
      ),
  });
  const theirs = useManifest(other, created).data;
  const after = useMemo(() => theirs && graphOfPlan(theirs.plan, 2), [theirs]);
  return (
    <Loaded query={found} height={400}>
      {({ differences, report }) => (
        <Stack>
          <section>
            <Title order={2} size="h4" mb="xs">
              What differs
            </Title>
            {differences.length ? (
              <Differences rows={rowsOf(differences)} names={[manifest.name, other]} />
            ) : (
              <Text>Nothing but their names.</Text>
            )}
          </section>
          <section>
            <Title order={2} size="h4" mb="xs" className="breaks">
              The state of {manifest.name} under the pipeline of {other}
            </Title>
            <ReportTable report={report as unknown as AnyReport} />
          </section>
          {after && (
            <TwoPlans
              before={{ title: manifest.name, graph }}
              after={{ title: other, graph: after }}
              report={report as unknown as AnyReport}
              renamed={NOTHING}
            />
          )}
        </Stack>
      )}
    </Loaded>
  );
}

const NOTHING = {};
const SHORT = 60;

function Differences({ rows, names }: { rows: DifferenceRow[]; names: [string, string] }) {
  return (
    <div className={classes.scroll}>
      <Table withTableBorder verticalSpacing="xs" layout="fixed" miw={640} aria-label="What differs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="20%">What</Table.Th>
            {names.map((name) => (
              <Table.Th key={name} className="breaks">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) =>
            row.parts.length ? <Parts key={row.what} row={row} /> : <Whole key={row.what} row={row} />,
          )}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Whole({ row }: { row: DifferenceRow }) {
  const shown = (text: string) => {
    if (row.what === "created" || row.what === "watermark") return text === "–" ? text : exact(text);
    if (/bytes$/.test(row.what) && /^\d+$/.test(text)) return bytes(Number(text));
    return /^\d+$/.test(text) ? count(Number(text)) : text;
  };
  return (
    <Table.Tr>
      <Table.Th scope="row" className={classes.name}>
        {row.what}
      </Table.Th>
      <Table.Td>
        <Value text={shown(row.a)} />
      </Table.Td>
      <Table.Td>
        <Value text={shown(row.b)}>
          {row.grown !== null && (
            <Text span c="dimmed" size="sm" className="figure">
              {" "}
              ({row.grown > 0 ? "+" : ""}
              {/bytes$/.test(row.what) ? bytes(row.grown) : count(row.grown)})
            </Text>
          )}
        </Value>
      </Table.Td>
    </Table.Tr>
  );
}

/** Text that may be long: then its box can be scrolled, by keyboard, too. */
function Value({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <Box className={classes.value} tabIndex={text.length > SHORT ? 0 : undefined}>
      {text}
      {children}
    </Box>
  );
}

function Parts({ row }: { row: DifferenceRow }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" className={classes.name}>
        {row.what}
        <Text size="xs" c="dimmed">
          {count(row.parts.length)} {row.parts.length === 1 ? "value differs" : "values differ"}
        </Text>
      </Table.Th>
      <Table.Td colSpan={2}>
        <Box component="section" className={classes.parts} tabIndex={0} aria-label={`What differs in ${row.what}`}>
          <Table fz="xs" aria-label={row.what} layout="fixed">
            <Table.Tbody>
              {row.parts.map((part) => (
                <Table.Tr key={part.path}>
                  <Table.Th scope="row" className="breaks">
                    {part.path}
                  </Table.Th>
                  <Table.Td className="breaks">
                    <Code>{part.a}</Code>
                  </Table.Td>
                  <Table.Td className="breaks">
                    <Code>{part.b}</Code>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Box>
      </Table.Td>
    </Table.Tr>
  );
}
