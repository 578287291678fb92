import { Accordion, Code, Stack, Table, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { SnapshotManifest } from "../../api/client";
import { useJobs } from "../../api/queries";
import { bytes as bytesText, count, exact, UNKNOWN } from "../../logic/format";
import { type Column, DataTable } from "../../parts/DataTable";
import { JobLink } from "../../parts/JobLink";
import { PlaceLink } from "../../parts/links";
import { offsetsOf, type SavedStage, spread, startedFrom } from "./manifestFacts";
import classes from "./snapshots.module.css";

type File = SnapshotManifest["files"][number];

/** What a snapshot holds as a whole, by stage, by source, and file by file. */
export function Contents({
  manifest,
  stages,
  bytes,
}: {
  manifest: SnapshotManifest;
  stages: SavedStage[];
  bytes: number;
}) {
  const offsets = offsetsOf(manifest);
  return (
    <Stack>
      <Facts manifest={manifest} bytes={bytes} />
      <section>
        <Title order={2} size="h4" mb="xs">
          State by stage
        </Title>
        {stages.length ? <Stages stages={stages} /> : <Text c="dimmed">No stage of this pipeline keeps state.</Text>}
      </section>
      <section>
        <Title order={2} size="h4" mb="xs">
          Where its sources are read on
        </Title>
        {offsets.length ? (
          <div className={classes.scroll}>
            <Table withTableBorder verticalSpacing="xs" aria-label="Offsets">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Source</Table.Th>
                  <Table.Th>Read by</Table.Th>
                  <Table.Th>Offset</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {offsets.map((each) => (
                  <Table.Tr key={`${each.source} ${each.reader}`}>
                    <Table.Th scope="row" className={classes.name}>
                      {each.source}
                    </Table.Th>
                    <Table.Td className={classes.name}>{each.reader || "the query itself"}</Table.Td>
                    <Table.Td>
                      <Code
                        block
                        className={classes.offset}
                        tabIndex={0}
                        aria-label={`Offset of ${each.source}${each.reader && ` for ${each.reader}`}`}
                        role="region"
                      >
                        {spread(each.offset)}
                      </Code>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        ) : (
          <Text c="dimmed">It holds no offsets.</Text>
        )}
      </section>
      <Accordion variant="contained" order={2} keepMounted={false}>
        <Accordion.Item value="files">
          <Accordion.Control>
            {count(manifest.files.length)} files, {bytesText(bytes)}
          </Accordion.Control>
          <Accordion.Panel>
            <Files files={[...manifest.files, ...Object.values(manifest.imported).flat()]} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Stack>
  );
}

function Facts({ manifest, bytes }: { manifest: SnapshotManifest; bytes: number }) {
  const users = startedFrom(useJobs().data ?? []).get(manifest.name) ?? [];
  const versions = Object.entries(manifest.versions).sort(([a], [b]) => (a < b ? -1 : 1));
  const facts: [string, ReactNode][] = [
    ["Job", <JobLink key="job" job={{ id: manifest.job_id, name: manifest.job_name }} />],
    ["Taken", exact(new Date(manifest.created * 1000).toISOString())],
    ["Last epoch", count(manifest.epoch)],
    ["Watermark", manifest.watermark_ms === null ? UNKNOWN : exact(new Date(manifest.watermark_ms).toISOString())],
    ["Size", `${bytesText(bytes)} in ${count(manifest.files.length)} files`],
    ["Partitions", count(manifest.partitions)],
    ["Versions", versions.map(([name, version]) => `${name} ${version}`).join(", ")],
    ["State store", manifest.provider.split(".").pop() ?? UNKNOWN],
    ["Checkpoint", manifest.lineage],
    [
      "Started from it",
      users.length
        ? users.map((job, index) => (
            <span key={job.id}>
              {index > 0 && ", "}
              <JobLink job={job} /> version {job.version}
            </span>
          ))
        : "no job that has not ended",
    ],
  ];
  return (
    <dl className={classes.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="breaks">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Stages({ stages }: { stages: SavedStage[] }) {
  return (
    <div className={classes.scroll}>
      <Table withTableBorder verticalSpacing="xs" aria-label="State by stage">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Stage</Table.Th>
            <Table.Th>Kind</Table.Th>
            <Table.Th>Keys</Table.Th>
            <Table.Th ta="right">Rows</Table.Th>
            <Table.Th ta="right">Size</Table.Th>
            <Table.Th>What it does</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {stages.map((each) => (
            <Table.Tr key={each.stage}>
              <Table.Th scope="row" className={classes.name}>
                <PlaceLink to="." search={{ tab: "state", stage: each.stage }} inherit>
                  {each.stage}
                </PlaceLink>
              </Table.Th>
              <Table.Td>
                {each.kind}
                {each.imported && " (imported)"}
              </Table.Td>
              <Table.Td className="breaks">{each.keys || UNKNOWN}</Table.Td>
              <Table.Td ta="right" className="figure">
                {count(each.rows)}
              </Table.Td>
              <Table.Td ta="right" className="figure">
                {bytesText(each.bytes)}
              </Table.Td>
              <Table.Td className="breaks">{each.what}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

const FILE_COLUMNS: Column<File>[] = [
  { id: "path", head: "File", width: "minmax(220px, 2fr)", value: (file) => file.path, cell: (file) => file.path },
  {
    id: "bytes",
    head: "Size",
    width: "110px",
    numeric: true,
    value: (file) => file.bytes,
    cell: (file) => bytesText(file.bytes),
  },
  { id: "sha256", head: "SHA-256", width: "minmax(220px, 3fr)", cell: (file) => <Code>{file.sha256}</Code> },
];

function Files({ files }: { files: File[] }) {
  const [sorting, setSorting] = useState([{ id: "path", desc: false }]);
  return (
    <DataTable
      label="Files"
      columns={FILE_COLUMNS}
      rows={files}
      id={(file) => file.path}
      sorting={sorting}
      onSorting={setSorting}
      height={360}
    />
  );
}
