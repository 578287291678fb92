import { Badge, Stack, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answered, api, ProblemError } from "../../api/client";
import { useConnection } from "../../api/live";
import { SIGNAL } from "../../parts/theme";

/** Asked anew so often while it is looked at: a store that is away cannot say so itself. */
const EVERY_MS = 5000;

/** Whether the server lives, and its store answers. */
export function Health() {
  const connection = useConnection();
  const alive = useQuery({
    queryKey: ["health", "alive"],
    queryFn: ({ signal }) => answered(api.GET("/healthz", { signal })),
    refetchInterval: EVERY_MS,
  });
  const ready = useQuery({
    queryKey: ["health", "ready"],
    queryFn: ({ signal }) => answered(api.GET("/readyz", { signal })),
    refetchInterval: EVERY_MS,
  });
  const rows: [string, boolean | null, string][] = [
    ["Control plane", known(alive), said(alive, "It answers.")],
    ["Store", known(ready), said(ready, "It answers.")],
    [
      "Live events",
      connection === "live",
      connection === "live" ? "They arrive." : "They do not arrive at this moment.",
    ],
  ];
  return (
    <Stack maw={720}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Part</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>What it says</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(([part, well, sentence]) => (
            <Table.Tr key={part}>
              <Table.Td>{part}</Table.Td>
              <Table.Td>
                <Badge radius="sm" tt="none" color={well === null ? SIGNAL.quiet : well ? SIGNAL.good : SIGNAL.bad}>
                  {well === null ? "asking…" : well ? "well" : "not well"}
                </Badge>
              </Table.Td>
              <Table.Td className="breaks">{sentence}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

type Asked = { data: unknown; error: unknown };

function known({ data, error }: Asked): boolean | null {
  return error ? false : data === undefined ? null : true;
}

function said({ data, error }: Asked, well: string): string {
  return error instanceof ProblemError ? error.message : data === undefined ? "–" : well;
}
