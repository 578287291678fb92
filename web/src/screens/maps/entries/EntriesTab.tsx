import { Anchor, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import { answeredExactly, api, type MapEntry, type MapFacts } from "../../../api/client";
import { count } from "../../../logic/format";
import { type Column, DataTable } from "../../../parts/DataTable";
import { Empty, Loaded } from "../../../parts/Trouble";
import { When } from "../../../parts/When";
import { keyText } from "../keys";
import { PrefixInput } from "../PrefixInput";
import { useMapChanges } from "../useMapChanges";
import { shortValue } from "../values/difference";

const route = getRouteApi("/maps/$map");
const PAGE = 100;

type Change = (change: { key?: string; prefix?: string }) => void;

/** The entries of a map, a page at a time: the whole of it is never read. */
export function EntriesTab({ facts, change }: { facts: MapFacts; change: Change }) {
  const { prefix = "" } = route.useSearch();
  return (
    <Stack gap="sm">
      <Group align="end">
        <PrefixInput />
        <ExactKey onFind={(key) => change({ key })} />
      </Group>
      <Pages key={prefix} facts={facts} prefix={prefix} change={change} />
    </Stack>
  );
}

function Pages({ facts, prefix, change }: { facts: MapFacts; prefix: string; change: Change }) {
  const search = route.useSearch();
  /** The last key before each page that was shown, up to this one. */
  const [before, setBefore] = useState<string[]>([]);
  const after = before.at(-1);
  const page = useQuery({
    queryKey: ["map", facts.name, "entries", prefix, after ?? null],
    queryFn: ({ signal }) => {
      const query = { prefix, limit: PAGE + 1, ...(after === undefined ? {} : { after }) };
      const params = { path: { name: facts.name }, query };
      return answeredExactly<MapEntry[]>(api.GET("/api/v1/maps/{name}/entries", { params, parseAs: "text", signal }));
    },
    placeholderData: keepPreviousData,
  });
  useMapChanges(facts, 1000, () => void page.refetch());
  const columns = useMemo<Column<MapEntry>[]>(
    () => [
      {
        id: "key",
        head: "Key",
        width: "minmax(150px, 1fr)",
        cell: (entry) => (
          <Anchor component={Link} size="sm" from={route.id} search={{ ...search, key: entry.key } as never}>
            {keyText(entry.key)}
          </Anchor>
        ),
      },
      {
        id: "value",
        head: "Value",
        width: "minmax(220px, 3fr)",
        cell: (entry) => (
          <Text ff="monospace" fz={12.5} span>
            {shortValue(entry.value, 300)}
          </Text>
        ),
      },
      { id: "updated", head: "Updated", width: "110px", cell: (entry) => <When at={entry.updated} /> },
      { id: "version", head: "Version", width: "90px", numeric: true, cell: (entry) => count(entry.version) },
    ],
    [search],
  );
  return (
    <Loaded query={page} height={400}>
      {(found) => {
        const rows = found.slice(0, PAGE);
        const last = rows.at(-1)?.key;
        const start = before.length * PAGE;
        return (
          <>
            <DataTable
              label={`Entries of ${facts.name}`}
              columns={columns}
              rows={rows}
              id={(entry) => entry.key}
              sorting={[]}
              onSorting={() => {}}
              onOpen={(entry) => change({ key: entry.key })}
              height="calc(100dvh - 400px)"
              empty={
                <Empty title={prefix ? "No key begins so" : "There is no entry"}>
                  {prefix ? "Keys are compared sign by sign: capitals count." : "The map's first write adds one."}
                </Empty>
              }
            />
            <Group justify="space-between">
              <Text size="sm" c="dimmed" role="status">
                {rows.length ? `${count(start + 1)} to ${count(start + rows.length)}` : "None"}
                {prefix ? " of those that begin so" : ` of ${count(facts.size)}`}, by key
              </Text>
              <Group gap="xs">
                <Button
                  variant="default"
                  size="xs"
                  leftSection={<IconChevronLeft size={14} />}
                  disabled={!before.length}
                  onClick={() => setBefore(before.slice(0, -1))}
                >
                  Previous
                </Button>
                <Button
                  variant="default"
                  size="xs"
                  rightSection={<IconChevronRight size={14} />}
                  disabled={found.length <= PAGE || page.isPlaceholderData}
                  onClick={() => last !== undefined && setBefore([...before, last])}
                >
                  Next
                </Button>
              </Group>
            </Group>
          </>
        );
      }}
    </Loaded>
  );
}

function ExactKey({ onFind }: { onFind: (key: string) => void }) {
  const [key, setKey] = useState("");
  const find = (event: FormEvent) => {
    event.preventDefault();
    if (key) onFind(key);
  };
  return (
    <form onSubmit={find}>
      <Group align="end" gap="xs" wrap="nowrap">
        <TextInput label="Exact key" value={key} onChange={(event) => setKey(event.currentTarget.value)} />
        <Button type="submit" variant="default" disabled={!key}>
          Open
        </Button>
      </Group>
    </form>
  );
}
