import { Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type AuditEntry, answered, api } from "../../api/client";
import { keys, useJobs } from "../../api/queries";
import { inWords } from "../../logic/changes";
import { hasWords, wordsOf } from "../../logic/search";
import { TimesAsControl } from "../../parts/TimesAs";
import { Empty, Loaded } from "../../parts/Trouble";
import { When } from "../../parts/When";

const PAGE = 100;

const answerOf = (entry: AuditEntry) => (entry.status < 400 ? "done" : `refused (${entry.status})`);

/** What the search reads of an entry: all that its row shows. */
const auditText = (entry: AuditEntry, called: (job: string) => string) =>
  [entry.user, entry.role, entry.door, inWords(entry, called), entry.method, entry.path, answerOf(entry)].join(" ");

/** Who changed what, through which door, the newest first. */
export function Audit() {
  const [query, setQuery] = useState("");
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
          label="Only with these words"
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          w={360}
          maw="100%"
        />
        <TimesAsControl />
      </Group>
      <Loaded query={audit}>
        {({ pages }) => {
          const all = pages.flat();
          if (!all.length) return <Empty title="Nobody has changed anything yet" />;
          const words = wordsOf(query);
          const shown = all.filter((entry) => hasWords(auditText(entry, called), words));
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
                    {shown.map((entry) => (
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
                        <Table.Td>{answerOf(entry)}</Table.Td>
                      </Table.Tr>
                    ))}
                  </Table.Tbody>
                </Table>
              </Table.ScrollContainer>
              <Text size="sm" c="dimmed" role="status">
                {shown.length} of the newest {all.length} are shown.
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
