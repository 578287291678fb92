import { Drawer, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { type MapFacts, ProblemError } from "../../../api/client";
import { shellLine } from "../../../logic/commands";
import { count } from "../../../logic/format";
import { ActionButton } from "../../../parts/ActionButton";
import { Copied } from "../../../parts/Copied";
import { CopyAs } from "../../../parts/CopyAs";
import { confirm, tellProblem } from "../../../parts/confirm";
import { PlaceLink } from "../../../parts/links";
import { Empty, Loaded, ProblemAlert } from "../../../parts/Trouble";
import { useAction } from "../../../parts/useAction";
import { useViewerRefusal } from "../../../parts/viewer";
import { When } from "../../../parts/When";
import { deleteCommand, getCommand } from "../commands";
import { keyText } from "../keys";
import { useMapChanges } from "../useMapChanges";
import classes from "../values/values.module.css";
import { deleteEntry, readEntry, type StoredEntry } from "./calls";
import { EntryEditor } from "./EntryEditor";

const route = getRouteApi("/maps/$map");

/** One entry, live. */
export function EntryDrawer({ facts, entryKey, onClose }: { facts: MapFacts; entryKey: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ["map", facts.name, "entry", entryKey],
    queryFn: ({ signal }) => readEntry(facts.name, entryKey, signal),
  });
  useMapChanges(facts, 1000, () => void query.refetch());
  const gone = query.error instanceof ProblemError && query.error.status === 404;
  const [edited, setEdited] = useState<StoredEntry | null>(null);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={
        <Text fw={600} className="breaks" lineClamp={3} component="span">
          {keyText(entryKey)}
        </Text>
      }
    >
      {gone && !edited ? (
        <Empty title="There is no such entry now">
          Map {facts.name} has no entry of exactly this key. It may have been removed, or may have expired.
        </Empty>
      ) : (
        <Loaded query={{ ...query, error: gone ? null : query.error }} height={420}>
          {(entry) => (
            <Stack gap="sm">
              {query.error && !gone && <ProblemAlert error={query.error} retry={() => void query.refetch()} />}
              {!gone && <Facts entry={entry} />}
              {edited ? (
                <EntryEditor
                  map={facts.name}
                  entry={edited}
                  stored={gone ? null : entry}
                  onSaved={() => {
                    setEdited(null);
                    void query.refetch();
                  }}
                  onStale={() => void query.refetch()}
                  onClose={() => setEdited(null)}
                />
              ) : (
                <Value facts={facts} entry={entry} onEdit={() => setEdited(entry)} onClose={onClose} />
              )}
            </Stack>
          )}
        </Loaded>
      )}
    </Drawer>
  );
}

function Facts({ entry }: { entry: StoredEntry }) {
  return (
    <Group gap="lg" fz="sm" mih={22} component="dl" m={0}>
      {[
        ["Version", <span key="v">{count(entry.version)}</span>],
        ["Created", <When key="c" at={entry.created} />],
        ["Updated", <When key="u" at={entry.updated} />],
        ["Expires", entry.expires ? <When key="e" at={entry.expires} /> : <span key="e">never</span>],
      ].map(([name, value]) => (
        <div key={String(name)}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} className="figure">
            {value}
          </Text>
        </div>
      ))}
    </Group>
  );
}

type ValueProps = { facts: MapFacts; entry: StoredEntry; onEdit: () => void; onClose: () => void };

function Value({ facts, entry, onEdit, onClose }: ValueProps) {
  const search = route.useSearch();
  const refused = useViewerRefusal();
  const remove = useAction({
    mutationFn: () => deleteEntry(facts.name, entry.key, entry.version),
    onSuccess: onClose,
    onError: tellProblem,
  });
  const ask = () =>
    confirm({
      title: "Delete this entry?",
      children: (
        <Text className="breaks" lineClamp={4}>
          Map {facts.name} then has no entry {keyText(entry.key)}. Its journal keeps the value for a while.
        </Text>
      ),
      does: "Delete entry",
      keeps: "Keep entry",
      onConfirm: () => remove.mutate(),
    });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <section className={classes.value} tabIndex={0} aria-label="Value">
        {entry.text}
      </section>
      <Group gap="xs">
        <Copied label="Copy key" text={entry.key} />
        <Copied label="Copy value" text={entry.text} />
        <Copied label="Copy as CLI" text={shellLine(getCommand(facts.name, entry.key).cli)} />
        <CopyAs command={getCommand(facts.name, entry.key)} label="reading this entry" />
      </Group>
      <Group gap="md">
        <PlaceLink size="sm" from={route.id} search={{ ...search, tab: "journal", prefix: entry.key, key: undefined }}>
          Its events in the journal
        </PlaceLink>
        <PlaceLink size="sm" from={route.id} search={{ ...search, tab: "picture", follow: entry.key, key: undefined }}>
          Follow it on the picture
        </PlaceLink>
      </Group>
      <Group justify="space-between">
        <Group gap={4}>
          <ActionButton refused={refused} color="red" variant="outline" loading={remove.isPending} onClick={ask}>
            Delete
          </ActionButton>
          <CopyAs command={deleteCommand(facts.name, entry.key, entry.version)} label="deleting this entry" />
        </Group>
        <ActionButton refused={refused} onClick={onEdit}>
          Edit
        </ActionButton>
      </Group>
    </>
  );
}
