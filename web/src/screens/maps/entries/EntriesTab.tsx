import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import type { MapEntry, MapFacts } from "../../../api/client";
import { count } from "../../../logic/format";
import { CopyAs } from "../../../parts/CopyAs";
import { type Column, DataTable } from "../../../parts/DataTable";
import { PlaceLink } from "../../../parts/links";
import { Empty, Loaded } from "../../../parts/Trouble";
import { When } from "../../../parts/When";
import { searchCommand } from "../commands";
import { keyText } from "../keys";
import { PrefixInput } from "../PrefixInput";
import { useMapChanges } from "../useMapChanges";
import { shortValue } from "../values/difference";
import { readPage } from "./calls";
import { searchWords } from "./searched";

const route = getRouteApi("/maps/$map");
const PAGE = 100;
/** A search is work for the server, and maps may change all the time. */
const SEARCHED_AGAIN_MS = 5000;

type Change = (change: { key?: string; prefix?: string; where?: string | undefined }) => void;

/** The entries of a map, a page at a time: the whole of it is never read. */
export function EntriesTab({ facts, change }: { facts: MapFacts; change: Change }) {
  const { prefix = "", where = "" } = route.useSearch();
  return (
    <Stack gap="sm">
      <Group align="end">
        <PrefixInput />
        <WhereInput
          key={where}
          map={facts.name}
          prefix={prefix}
          where={where}
          onFind={(next) => change({ where: next })}
        />
        <ExactKey onFind={(key) => change({ key })} />
      </Group>
      <Pages key={`${prefix}\n${where}`} facts={facts} prefix={prefix} where={where} change={change} />
    </Stack>
  );
}

type PagesProps = { facts: MapFacts; prefix: string; where: string; change: Change };

function Pages({ facts, prefix, where, change }: PagesProps) {
  const search = route.useSearch();
  /** The last key before each page that was shown, up to this one. */
  const [before, setBefore] = useState<string[]>([]);
  const after = before.at(-1);
  const page = useQuery({
    queryKey: ["map", facts.name, "entries", prefix, where, after ?? null],
    queryFn: ({ signal }) => readPage(facts.name, { prefix, where, after, limit: PAGE }, signal),
    placeholderData: keepPreviousData,
  });
  useMapChanges(facts, where ? SEARCHED_AGAIN_MS : 1000, () => void page.refetch());
  const columns = useMemo<Column<MapEntry>[]>(
    () => [
      {
        id: "key",
        head: "Key",
        width: "minmax(150px, 1fr)",
        cell: (entry) => (
          <PlaceLink size="sm" from={route.id} search={{ ...search, key: entry.key }}>
            {keyText(entry.key)}
          </PlaceLink>
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
        const rows = found.entries;
        const start = before.length * PAGE;
        // What is shown until the next page has come is the page before.
        const behind = page.isPlaceholderData ? 1 : 0;
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
                where ? (
                  <Empty title="None of these entries has such a value" />
                ) : (
                  <Empty title={prefix ? "No key begins so" : "There is no entry"}>
                    {prefix ? "Keys are compared sign by sign: capitals count." : "The map's first write adds one."}
                  </Empty>
                )
              }
            />
            <Group justify="space-between">
              <Text size="sm" c="dimmed" role="status">
                {where
                  ? searchWords(found, before.length > behind)
                  : `${rows.length ? `${count(start + 1)} to ${count(start + rows.length)}` : "None"}${
                      prefix ? " of those that begin so" : ` of ${count(facts.size)}`
                    }, by key`}
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
                  disabled={found.next === null || page.isPlaceholderData}
                  onClick={() => found.next !== null && setBefore([...before, found.next])}
                >
                  {where ? "Look further" : "Next"}
                </Button>
              </Group>
            </Group>
          </>
        );
      }}
    </Loaded>
  );
}

/** What values have to be like: it is asked of the server once it is written to its end. */
function WhereInput(props: {
  map: string;
  prefix: string;
  where: string;
  onFind: (where: string | undefined) => void;
}) {
  const [text, setText] = useState(props.where);
  const find = (event: FormEvent) => {
    event.preventDefault();
    props.onFind(text.trim() || undefined);
  };
  return (
    <form onSubmit={find}>
      <Group align="end" gap="xs" wrap="nowrap">
        <TextInput
          label="Value"
          placeholder="speed > 80"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" disabled={text.trim() === props.where}>
          Search
        </Button>
        <CopyAs command={searchCommand(props.map, text.trim(), props.prefix)} label="this search" />
      </Group>
    </form>
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
