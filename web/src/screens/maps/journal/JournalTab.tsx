import { Anchor, Button, Group, NumberInput, Stack, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type UIEvent, useMemo, useState } from "react";
import type { JournalEvent, MapFacts } from "../../../api/client";
import { shellLine } from "../../../logic/commands";
import { count } from "../../../logic/format";
import { type Column, DataTable } from "../../../parts/DataTable";
import { PlaceLink } from "../../../parts/links";
import { Empty, ProblemAlert } from "../../../parts/Trouble";
import { When } from "../../../parts/When";
import { keyText } from "../keys";
import { PrefixInput } from "../PrefixInput";
import { shortValue } from "../values/difference";
import { changesOf } from "./changes";
import { EventDialog } from "./EventDialog";
import classes from "./journal.module.css";
import { KindBadge } from "./KindBadge";
import { KEPT, SEARCHED } from "./tail";
import { useTail } from "./useTail";

const route = getRouteApi("/maps/$map");

/** What is written to a map, as it is written; the newest first. */
export function JournalTab({ facts }: { facts: MapFacts }) {
  const search = route.useSearch();
  const { prefix = "" } = search;
  const [from, setFrom] = useState<number | null>(null);
  const [paused, setPaused] = useState(false);
  const [opened, setOpened] = useState<JournalEvent | null>(null);
  const { tail, error, retry, full, waiting } = useTail(facts, from, prefix, paused);
  const columns = useMemo(() => columnsOf(search, setOpened), [search]);
  // Who reads further down is not to lose the place.
  const pauseBelow = (event: UIEvent<HTMLElement>) => {
    if ((event.target as HTMLElement).scrollTop > 40) setPaused(true);
  };
  if (!facts.journal_capacity) {
    return (
      <Empty
        title="This map keeps no journal"
        command={shellLine(["pitstop", "map", "configure", facts.name, "--journal-capacity", "10000"])}
      >
        With a journal, its changes can be watched here, and jobs can read them.
      </Empty>
    );
  }
  return (
    <Stack gap="sm">
      <Group align="end">
        <PrefixInput />
        <NumberInput
          label="From sequence"
          placeholder="the newest"
          value={from ?? ""}
          onChange={(value) => setFrom(typeof value === "number" && value >= 1 ? value : null)}
          min={1}
          allowDecimal={false}
          w={140}
        />
        <Button
          variant="default"
          leftSection={paused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />}
          onClick={() => setPaused(!paused)}
          w={120}
        >
          {paused ? "Resume" : "Pause"}
        </Button>
        <Counts paused={paused} full={full} waiting={waiting} notShown={tail.notShown} lost={tail.lost} />
      </Group>
      {error !== null && <ProblemAlert error={error} retry={retry} />}
      <div onScrollCapture={pauseBelow} className={classes.fixed}>
        <DataTable
          label={`Journal of ${facts.name}`}
          columns={columns}
          rows={tail.events}
          id={(event) => String(event.sequence)}
          sorting={[]}
          onSorting={() => {}}
          onOpen={setOpened}
          height="calc(100dvh - 400px)"
          empty={<Empty title={prefix ? "No event with such a key yet" : "Nothing has been written yet"} />}
        />
      </div>
      <Text size="sm" c="dimmed">
        The newest first, {count(KEPT)} at most.
        {prefix && facts.newest - facts.oldest > SEARCHED ? ` Searched: the newest ${count(SEARCHED)} events.` : ""}
      </Text>
      {opened && <EventDialog map={facts.name} event={opened} onClose={() => setOpened(null)} />}
    </Stack>
  );
}

function Counts(props: { paused: boolean; full: boolean; waiting: number; notShown: number; lost: number }) {
  return (
    <Text size="sm" mih={36} className={`figure ${classes.counts}`} role="status">
      {props.full
        ? `The first ${count(KEPT)} from there: ${count(props.waiting)} newer`
        : props.paused
          ? `Paused: ${count(props.waiting)} newer`
          : "Live"}
      {props.notShown > 0 && ` · ${count(props.notShown)} not shown`}
      {props.lost > 0 && ` · ${count(props.lost)} lost: the journal no longer kept them`}
    </Text>
  );
}

type Search = ReturnType<typeof route.useSearch>;

function columnsOf(search: Search, open: (event: JournalEvent) => void): Column<JournalEvent>[] {
  return [
    {
      id: "sequence",
      head: "Sequence",
      width: "110px",
      numeric: true,
      cell: (event) => (
        <Anchor component="button" size="sm" onClick={() => open(event)}>
          {count(event.sequence)}
        </Anchor>
      ),
    },
    { id: "kind", head: "Kind", width: "105px", cell: (event) => <KindBadge kind={event.kind} /> },
    {
      id: "key",
      head: "Key",
      width: "minmax(150px, 1fr)",
      cell: (event) => (
        <PlaceLink size="sm" from={route.id} search={{ ...search, key: event.key }}>
          {keyText(event.key)}
        </PlaceLink>
      ),
    },
    { id: "change", head: "Old → new", width: "minmax(260px, 3fr)", cell: (event) => <Change event={event} /> },
    { id: "at", head: "When", width: "110px", cell: (event) => <When at={event.at} /> },
  ];
}

function Change({ event }: { event: JournalEvent }) {
  const found = changesOf(event, 6);
  if (!found.length) return <>the same value</>;
  return (
    <span className={classes.changes}>
      {found.map((one) => (
        <span key={one.path} className={classes.change}>
          {one.path && <b>{one.path} </b>}
          {one.kind === "added" ? "" : shortValue(one.before, 60)}
          {one.kind === "changed" ? " → " : ""}
          {one.kind === "removed" ? " gone" : shortValue(one.after, 60)}
        </span>
      ))}
    </span>
  );
}
