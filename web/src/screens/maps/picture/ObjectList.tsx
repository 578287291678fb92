import { Button, Stack, Text, TextInput } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { count, UNKNOWN } from "../../../logic/format";
import { type Column, DataTable } from "../../../parts/DataTable";
import { PlaceLink } from "../../../parts/links";
import { When } from "../../../parts/When";
import { keyText } from "../keys";
import { shortValue } from "../values/difference";
import { type Listed, objectsOf } from "./listed";
import type { Picture } from "./picture";

const route = getRouteApi("/maps/$map");
const ANEW_MS = 2000;

type Props = { picture: Picture; selected: string | null; onSelect: (key: string | null) => void };

/** The same objects in words. */
export function ObjectList({ picture, selected, onSelect }: Props) {
  const search = route.useSearch();
  const [part, setPart] = useState("");
  const [sorting, setSorting] = useState([{ id: "key", desc: false }]);
  const [rows, setRows] = useState<Listed[]>(() => objectsOf(picture, ""));
  useEffect(() => {
    let next = 0;
    const read = () => {
      if (Date.now() < next) return;
      next = Date.now() + ANEW_MS;
      setRows(objectsOf(picture, part));
    };
    read();
    return picture.teller.subscribe(read);
  }, [picture, part]);
  const columns = useMemo<Column<Listed>[]>(
    () => [
      {
        id: "key",
        head: "Key",
        value: (row) => row.key,
        width: "minmax(180px, 2fr)",
        cell: (row) => (
          <PlaceLink size="sm" from={route.id} search={{ ...search, key: row.key }}>
            {keyText(row.key)}
          </PlaceLink>
        ),
      },
      number("latitude", "Latitude", (row) => row.latitude),
      number("longitude", "Longitude", (row) => row.longitude),
      {
        id: "colour",
        head: search.colour ?? "Colour",
        value: (row) => words(row.colour),
        width: "minmax(110px, 1fr)",
        cell: (row) => words(row.colour) ?? UNKNOWN,
      },
      {
        id: "faults",
        head: "Faults",
        value: (row) => row.faults.length,
        width: "minmax(110px, 1fr)",
        cell: (row) => (row.faults.length ? shortValue(row.faults, 80) : UNKNOWN),
      },
      {
        id: "at",
        head: "Written",
        value: (row) => row.at,
        width: "110px",
        cell: (row) => <When at={new Date(row.at).toISOString()} />,
      },
      {
        id: "choose",
        head: "Action",
        width: "110px",
        cell: (row) => (
          <Button
            size="compact-xs"
            variant="default"
            aria-pressed={row.key === selected}
            onClick={() => onSelect(row.key)}
          >
            Choose
          </Button>
        ),
      },
    ],
    [search, selected, onSelect],
  );
  return (
    <Stack gap="xs">
      <TextInput
        label="Only keys with"
        value={part}
        onChange={(event) => setPart(event.currentTarget.value)}
        maw={300}
      />
      <DataTable
        label="Objects"
        columns={columns}
        rows={rows}
        id={(row) => row.key}
        sorting={sorting}
        onSorting={setSorting}
        onOpen={(row) => onSelect(row.key)}
        height="calc(100dvh - 580px)"
      />
      <Text size="sm" c="dimmed">
        {count(rows.length)} objects
      </Text>
    </Stack>
  );
}

function words(value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  return shortValue(value, 60);
}

function number(id: string, head: string, value: (row: Listed) => number): Column<Listed> {
  return { id, head, value, width: "120px", numeric: true, cell: (row) => value(row).toFixed(5) };
}
