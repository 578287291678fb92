import { Group, Stack, Table, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { bytes } from "../../logic/format";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { confirm, tellProblem } from "../../parts/confirm";
import { JobLink } from "../../parts/JobLink";
import { Empty, Loaded } from "../../parts/Trouble";
import { useAction } from "../../parts/useAction";
import { useViewerRefusal } from "../../parts/viewer";
import { When } from "../../parts/When";
import { plainCommand } from "../job/commands";

const KEY = ["kept-states"];

/** What ended jobs keep on disk, so that they can be brought back; and freeing it. */
export function KeptStates() {
  const client = useQueryClient();
  const viewer = useViewerRefusal();
  const kept = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => answered(api.GET("/api/v1/kept-states", { signal })),
  });
  const discard = useAction({
    mutationFn: (job: string) => answered(api.POST("/api/v1/jobs/{job}/discard", { params: { path: { job } } })),
    onSuccess: () => void client.invalidateQueries({ queryKey: KEY }),
    onError: tellProblem,
  });
  const ask = (id: string, name: string, size: number) =>
    confirm({
      title: `Discard the state of ${name}?`,
      children: `${bytes(size)} are freed. The job cannot be brought back from there any more; named snapshots stay.`,
      does: "Discard state",
      keeps: "Keep state",
      onConfirm: () => discard.mutate(id),
    });
  return (
    <Loaded query={kept}>
      {(states) =>
        states.length === 0 ? (
          <Empty title="No ended job keeps state">Jobs that fail or are cancelled keep theirs for a while.</Empty>
        ) : (
          <Stack>
            <Text size="sm">{bytes(states.reduce((sum, state) => sum + state.bytes, 0))} in all.</Text>
            <Table.ScrollContainer minWidth={560} tabIndex={0} aria-label="Kept states">
              <Table>
                <Table.Thead>
                  <Table.Tr>
                    {["Job", "Ended", "Size", "Kept until", "Actions"].map((head) => (
                      <Table.Th key={head}>{head}</Table.Th>
                    ))}
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {states.map((state) => (
                    <Table.Tr key={state.id}>
                      <Table.Td>
                        <JobLink job={state} />
                      </Table.Td>
                      <Table.Td>{state.user_cancelled ? "cancelled by a user" : "failed"}</Table.Td>
                      <Table.Td>{bytes(state.bytes)}</Table.Td>
                      <Table.Td>
                        <When at={state.until} />
                      </Table.Td>
                      <Table.Td>
                        <Group gap={4} wrap="nowrap">
                          <ActionButton
                            size="xs"
                            variant="default"
                            refused={viewer}
                            onClick={() => ask(state.id, state.name ?? state.id, state.bytes)}
                            aria-label={`Discard the state of ${state.name ?? state.id}`}
                          >
                            Discard
                          </ActionButton>
                          <CopyAs label="Discard" command={plainCommand({ id: state.id, name: null }, "discard")} />
                        </Group>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          </Stack>
        )
      }
    </Loaded>
  );
}
