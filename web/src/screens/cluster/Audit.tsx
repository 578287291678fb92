import { Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { answered, api } from "../../api/client";
import { keys, useJobs } from "../../api/queries";
import { inWords } from "../../logic/changes";
import { TimesAsControl } from "../../parts/TimesAs";
import { Empty, Loaded } from "../../parts/Trouble";
import { When } from "../../parts/When";

const PAGE = 100;

/** Who changed what, through which door, the newest first. */
export function Audit() {
  const [wanted, setWanted] = useState("");
  const jobs = useJobs().data;
  const names = useMemo(() => new Map(jobs?.map((job) => [job.id, job.name ?? job.id])), [jobs]);
  const called = (job: string) => names.get(job) ?? job;
  const audit = useInfiniteQuery({
    queryKey: keys.audit,
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam, signal }) =>
      answered(api.GET("/api/v1/audit", { params: { query: { before: pageParam, limit: PAGE } }, signal })),
    getNextPageParam: (page) => (page.length < PAGE ? undefined : page.at(-1)?.sequence),
  });
  return (
    <Stack>
      <Group align="end">
        <TextInput
          label="Only with this in user or path"
          value={wanted}
          onChange={(event) => setWanted(event.currentTarget.value)}
          w={360}
          maw="100%"
        />
        <TimesAsControl />
      </Group>
      <Loaded query={audit}>
        {({ pages }) => {
          const all = pages.flat();
          const found = all.filter((entry) => `${entry.user ?? ""} ${entry.path}`.includes(wanted));
          if (!all.length) return <Empty title="Nobody has changed anything yet" />;
          return (
            <>
              <Table.ScrollContainer minWidth={700} tabIndex={0} aria-label="Audit">
                <Table>
                  <Table.Thead>
                    <Table.Tr>
                      {["When", "Who", "Role", "Through", "What", "Answer"].map((head) => (
                        <Table.Th key={head}>{head}</Table.Th>
                      ))}
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {found.map((entry) => (
                      <Table.Tr key={entry.sequence}>
                        <Table.Td>
                          <When at={entry.at} />
                        </Table.Td>
                        <Table.Td className="breaks">{entry.user ?? "–"}</Table.Td>
                        <Table.Td>{entry.role}</Table.Td>
                        <Table.Td>{entry.door}</Table.Td>
                        <Table.Td className="breaks">
                          {inWords(entry, called)}
                          <Text size="xs" c="dimmed">
                            {entry.method} {entry.path}
                          </Text>
                        </Table.Td>
                        <Table.Td>{entry.status < 400 ? "done" : `refused (${entry.status})`}</Table.Td>
                      </Table.Tr>
                    ))}
                  </Table.Tbody>
                </Table>
              </Table.ScrollContainer>
              <Text size="sm" c="dimmed" role="status">
                {found.length} of the newest {all.length} are shown.
              </Text>
              {audit.hasNextPage && (
                <Button
                  variant="default"
                  onClick={() => void audit.fetchNextPage()}
                  loading={audit.isFetchingNextPage}
                  w={160}
                >
                  Older ones
                </Button>
              )}
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}
