import { Badge, Center, Group, Loader, Stack, Tabs, Text, Title } from "@mantine/core";
import { IconPlus, IconSettings } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import type { MapFacts } from "../../api/client";
import { count, duration, rate } from "../../logic/format";
import { tabFrom } from "../../logic/tabs";
import { ActionButton } from "../../parts/ActionButton";
import { PlaceLink } from "../../parts/links";
import { Empty, Loaded } from "../../parts/Trouble";
import { useViewerRefusal } from "../../parts/viewer";
import { firstPutLine } from "./commands";
import { AddEntry } from "./entries/AddEntry";
import { EntriesTab } from "./entries/EntriesTab";
import { EntryDrawer } from "./entries/EntryDrawer";
import { JournalTab } from "./journal/JournalTab";
import { ConfigureDialog } from "./list/ConfigureDialog";
import { eventsKept } from "./list/JournalFill";
import { useWriteRates } from "./list/useWriteRates";
import { useMap } from "./useMapChanges";

const route = getRouteApi("/maps/$map");
const PictureTab = lazy(() => import("./picture/PictureTab"));
const TABS = { entries: "Entries", journal: "Journal", picture: "Picture" };

/** A map: its entries, its journal, and its objects where they are. */
export function MapScreen() {
  const { map: name } = route.useParams();
  const { facts, query } = useMap(name);
  return (
    <Stack gap="sm">
      <PlaceLink to="/maps" size="sm">
        All maps
      </PlaceLink>
      <Title order={1} size="h2" className="breaks" lineClamp={3}>
        {name}
      </Title>
      <Loaded query={query} height={400}>
        {() => (facts ? <Known key={facts.name} facts={facts} /> : <NoMap name={name} />)}
      </Loaded>
    </Stack>
  );
}

function NoMap({ name }: { name: string }) {
  const command = firstPutLine(name);
  return (
    <Empty title="There is no map of this name" command={command ?? undefined}>
      {command
        ? "It is made by its first write."
        : "Nor can there be one: a map is called by letters, digits, '_', '.', '-' and blanks, beginning with a letter or digit, 200 at most."}
    </Empty>
  );
}

function Known({ facts }: { facts: MapFacts }) {
  const search = route.useSearch();
  const go = useNavigate({ from: "/maps/$map" });
  const [dialog, setDialog] = useState<"configure" | "add" | null>(null);
  const refused = useViewerRefusal();
  const change = (more: Partial<typeof search>) => void go({ search: { ...search, ...more } });
  const tab = tabFrom(TABS, search.tab, "entries");
  return (
    <>
      <Group justify="space-between">
        <FactsLine facts={facts} />
        <Group gap="xs">
          <ActionButton
            size="xs"
            leftSection={<IconPlus size={14} />}
            refused={refused}
            onClick={() => setDialog("add")}
          >
            Add an entry
          </ActionButton>
          <ActionButton
            size="xs"
            variant="default"
            leftSection={<IconSettings size={14} />}
            refused={refused}
            onClick={() => setDialog("configure")}
          >
            Configure
          </ActionButton>
        </Group>
      </Group>
      <Tabs value={tab} onChange={(next) => change({ tab: next ?? undefined, key: undefined })} keepMounted={false}>
        <Tabs.List>
          {Object.entries(TABS).map(([value, label]) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="entries" pt="sm">
          <EntriesTab facts={facts} change={change} />
        </Tabs.Panel>
        <Tabs.Panel value="journal" pt="sm">
          <JournalTab facts={facts} />
        </Tabs.Panel>
        <Tabs.Panel value="picture" pt="sm">
          <Suspense fallback={<Waiting />}>
            <PictureTab facts={facts} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      {search.key !== undefined && (
        <EntryDrawer key={search.key} facts={facts} entryKey={search.key} onClose={() => change({ key: undefined })} />
      )}
      {dialog === "configure" && <ConfigureDialog map={facts} onClose={() => setDialog(null)} />}
      {dialog === "add" && (
        <AddEntry
          map={facts.name}
          onClose={() => setDialog(null)}
          onOpen={(key) => {
            setDialog(null);
            change({ key });
          }}
        />
      )}
    </>
  );
}

function FactsLine({ facts }: { facts: MapFacts }) {
  const rates = useWriteRates(useMemo(() => [facts], [facts]));
  const kept = eventsKept(facts);
  const journal = facts.journal_capacity
    ? `${count(kept)} of ${count(facts.journal_capacity)} events kept`
    : "no journal";
  return (
    <Group gap="md" fz="sm" className="figure">
      <Text size="sm">{facts.size === 1 ? "1 entry" : `${count(facts.size)} entries`}</Text>
      <Text size="sm" c="dimmed">
        {journal}
      </Text>
      <Text size="sm" c="dimmed" miw={100}>
        {rate(rates(facts.name))} written
      </Text>
      {facts.ttl_seconds !== null && (
        <Badge variant="default" tt="none">
          Entries live {duration(facts.ttl_seconds * 1000)}
        </Badge>
      )}
    </Group>
  );
}

function Waiting() {
  return (
    <Center mih={500}>
      <Loader role="status" aria-label="Loading the picture" />
    </Center>
  );
}
