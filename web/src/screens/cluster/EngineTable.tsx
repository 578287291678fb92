import { Table, Title } from "@mantine/core";
import type { Engine } from "../../api/client";
import { bytes } from "../../logic/format";
import { When } from "../../parts/When";
import { JobNames } from "./JobNames";

/** The engines that jobs share, with what they carry; nothing where every job has its own. */
export function EngineTable({ engines }: { engines: Engine[] }) {
  if (!engines.length) return null;
  return (
    <>
      <Title order={2} size="h4">
        Engines
      </Title>
      <Table.ScrollContainer minWidth={640} tabIndex={0} aria-label="Engines">
        <Table>
          <Table.Thead>
            <Table.Tr>
              {["Name", "Jobs", "Spares", "Heap", "Cores", "Up since"].map((head) => (
                <Table.Th key={head}>{head}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {engines.map((engine) => (
              <Table.Tr key={engine.id}>
                <Table.Td title={engine.id}>{engine.retired ? `${engine.name} (retired)` : engine.name}</Table.Td>
                <Table.Td>
                  <JobNames names={engine.jobs} />
                </Table.Td>
                <Table.Td>{engine.spares}</Table.Td>
                <Table.Td>
                  {bytes(engine.heap_bytes)} of {bytes(engine.most_heap_bytes)}
                </Table.Td>
                <Table.Td>{engine.cores}</Table.Td>
                <Table.Td>
                  <When at={engine.started} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </>
  );
}
