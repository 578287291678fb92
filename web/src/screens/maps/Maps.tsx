import { Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconPlus, IconSearch, IconSettings } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { MapFacts } from "../../api/client";
import { useMaps } from "../../api/queries";
import { count, duration, rate } from "../../logic/format";
import { sortingFrom, sortingText } from "../../logic/sorting";
import { ActionButton } from "../../parts/ActionButton";
import { type Column, DataTable } from "../../parts/DataTable";
import { PlaceLink } from "../../parts/links";
import { Empty, Loaded } from "../../parts/Trouble";
import { useViewerRefusal } from "../../parts/viewer";
import { ConfigureDialog } from "./list/ConfigureDialog";
import { eventsKept, JournalFill, Sequences } from "./list/JournalFill";
import { useWriteRates } from "./list/useWriteRates";

const route = getRouteApi("/maps");

/** All maps, with their journals. */
export function Maps() {
  const maps = useMaps();
  const search = route.useSearch();
  const go = useNavigate({ from: "/maps" });
  const refused = useViewerRefusal();
  const rates = useWriteRates(maps.data);
  const [configured, setConfigured] = useState<MapFacts | "new" | null>(null);
  const columns = useMemo<Column<MapFacts>[]>(
    () => [
      {
        id: "name",
        head: "Name",
        value: (map) => map.name,
        width: "minmax(160px, 1fr)",
        cell: (map) => (
          <PlaceLink to="/maps/$map" params={{ map: map.name }} size="sm" fw={600}>
            {map.name}
          </PlaceLink>
        ),
      },
      {
        id: "entries",
        head: "Entries",
        value: (map) => map.size,
        width: "110px",
        numeric: true,
        cell: (map) => count(map.size),
      },
      {
        id: "journal",
        head: "Journal",
        value: (map) => eventsKept(map) / (map.journal_capacity || 1),
        width: "minmax(150px, 1fr)",
        cell: (map) => <JournalFill map={map} />,
      },
      {
        id: "sequences",
        head: "Sequences",
        value: (map) => map.newest,
        width: "180px",
        numeric: true,
        cell: (map) => <Sequences map={map} />,
      },
      {
        id: "writes",
        head: "Writes",
        value: (map) => rates(map.name),
        width: "100px",
        numeric: true,
        cell: (map) => rate(rates(map.name)),
      },
      {
        id: "ttl",
        head: "Time to live",
        value: (map) => map.ttl_seconds ?? Number.POSITIVE_INFINITY,
        width: "130px",
        numeric: true,
        cell: (map) => (map.ttl_seconds === null ? "Forever" : duration(map.ttl_seconds * 1000)),
      },
      {
        id: "act",
        head: "Action",
        width: "140px",
        cell: (map) => (
          <ActionButton
            size="compact-sm"
            variant="default"
            leftSection={<IconSettings size={14} />}
            refused={refused}
            onClick={() => setConfigured(map)}
            aria-label={`Configure ${map.name}`}
          >
            Configure
          </ActionButton>
        ),
      },
    ],
    [rates, refused],
  );
  const part = (search.name ?? "").toLowerCase();
  const shown = useMemo(
    () => maps.data?.filter((map) => map.name.toLowerCase().includes(part)) ?? [],
    [maps.data, part],
  );
  const change = (change: Partial<typeof search>) => void go({ search: { ...search, ...change }, replace: true });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Maps
        </Title>
        <ActionButton
          variant="default"
          leftSection={<IconPlus size={16} />}
          refused={refused}
          onClick={() => setConfigured("new")}
        >
          Make a map
        </ActionButton>
      </Group>
      <Loaded query={maps} height={300}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              title="There is no map yet"
              command={`pitstop map put vehicles 1FTEW1E5 '{"latitude": 44.95, "longitude": -93.09}'`}
            >
              A map is made by its first write: by a job that writes to it, or by this command. Values with coordinates
              can be watched while they move.
            </Empty>
          ) : (
            <>
              <Group justify="space-between" align="end">
                <TextInput
                  label="Name"
                  leftSection={<IconSearch size={16} aria-hidden="true" />}
                  value={search.name ?? ""}
                  onChange={(event) => change({ name: event.currentTarget.value || undefined })}
                />
                <Text size="sm" c="dimmed" role="status">
                  {count(shown.length)} of {count(all.length)} {all.length === 1 ? "map" : "maps"}
                </Text>
              </Group>
              <DataTable
                label="Maps"
                columns={columns}
                rows={shown}
                id={(map) => map.name}
                sorting={sortingFrom(search.sort ?? "name")}
                onSorting={(sorting) => change({ sort: sortingText(sorting) })}
                onOpen={(map) => void go({ to: "/maps/$map", params: { map: map.name } })}
                empty={<Empty title={`No map has “${search.name}” in its name`} />}
              />
            </>
          )
        }
      </Loaded>
      {configured && (
        <ConfigureDialog map={configured === "new" ? null : configured} onClose={() => setConfigured(null)} />
      )}
    </Stack>
  );
}
