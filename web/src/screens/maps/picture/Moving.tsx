import { Alert, Group, SegmentedControl, Stack, Text, useComputedColorScheme } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { MapFacts } from "../../../api/client";
import { count } from "../../../logic/format";
import { ProblemAlert } from "../../../parts/Trouble";
import { Canvas } from "./Canvas";
import { Controls, type Wishes } from "./Controls";
import { type Field, faultField, type Place } from "./fields";
import { Legend } from "./Legend";
import { ObjectCard } from "./ObjectCard";
import { ObjectList } from "./ObjectList";
import { Picture } from "./picture";
import { remember, remembered } from "./remembered";
import type { Shown } from "./shown";
import { TimeBar } from "./TimeBar";

const route = getRouteApi("/maps/$map");
const STALE_MS = 60_000;

type Props = { facts: MapFacts; prefix: string; place: Place; fields: Field[]; onPick: () => void };

/** The picture of a map with all that belongs to it. */
export function Moving({ facts, prefix, place, fields, onPick }: Props) {
  const search = route.useSearch();
  const go = useNavigate({ from: "/maps/$map" });
  const change = (more: Partial<typeof search>) => void go({ search: { ...search, ...more }, replace: true });
  const [picture] = useState(() => new Picture(facts.name, prefix, place, facts.journal_capacity > 0));
  const shown = useSyncExternalStore(picture.teller.subscribe, picture.teller.snapshot);
  const [before, setBefore] = useState(() => remembered(facts.name));
  const choose = (more: Pick<typeof before, "colour" | "faults">) => {
    remember(facts.name, more);
    setBefore({ ...before, ...more });
  };
  const faults = useMemo(
    () => (before.faults === undefined ? faultField(fields) : before.faults),
    [fields, before.faults],
  );
  const [wishes, setWishes] = useState<Wishes>({ stale: STALE_MS, trails: false, faults });
  const [way, setWay] = useState("picture");
  const [selected, setSelected] = useState<string | null>(null);
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const { colour = null, follow = null } = {
    colour: search.colour ?? before.colour ?? null,
    follow: search.follow ?? null,
  };
  useEffect(() => {
    void picture.start();
    // While the page is developed, a measurement can put objects of its own into the picture.
    if (import.meta.env.DEV) Object.assign(window, { pitstopPicture: picture });
    return () => picture.stop();
  }, [picture]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is written wakes the reader
  useEffect(() => picture.wake(), [picture, facts.newest]);
  useEffect(() => picture.colourBy(colour), [picture, colour]);
  useEffect(() => picture.faultsBy(wishes.faults), [picture, wishes.faults]);
  useEffect(() => picture.stage.trailsOfAll(wishes.trails), [picture, wishes.trails]);
  // The way of who is followed is known from the journal.
  useEffect(() => {
    if (follow !== null && shown.phase === "ready") void picture.readHistory();
  }, [picture, follow, shown.phase]);
  const settings = useMemo(
    () => ({ dark, stale: wishes.stale, trails: wishes.trails, follow, selected }),
    [dark, wishes.stale, wishes.trails, follow, selected],
  );
  const card = selected ?? follow;
  const chosen = card !== null && (
    <ObjectCard
      picture={picture}
      shown={shown}
      objectKey={card}
      followed={follow === card}
      onFollow={(on) => {
        change({ follow: on ? card : undefined });
        setSelected(null);
      }}
      onClose={selected === null ? undefined : () => setSelected(null)}
    />
  );
  return (
    <Stack gap="xs">
      <Controls
        fields={fields}
        wishes={wishes}
        onWishes={(more) => {
          setWishes({ ...wishes, ...more });
          if (more.faults !== undefined) choose({ faults: more.faults });
        }}
        colour={colour}
        onColour={(next) => {
          choose({ colour: next ?? undefined });
          change({ colour: next ?? undefined });
        }}
        onPick={onPick}
      />
      <Group justify="space-between">
        <Counts shown={shown} facts={facts} prefix={prefix} />
        <SegmentedControl
          size="xs"
          aria-label="Show as"
          value={way}
          onChange={setWay}
          data={[
            { value: "picture", label: "Picture" },
            { value: "list", label: "List" },
          ]}
        />
      </Group>
      {shown.error !== null && <ProblemAlert error={shown.error} retry={() => void picture.start()} />}
      {!facts.journal_capacity && (
        <Alert color="orange" variant="outline" title="This map keeps no journal">
          The picture stands as it was read. With a journal, it moves.
        </Alert>
      )}
      {way === "list" ? (
        <>
          <ObjectList picture={picture} onSelect={setSelected} selected={selected} />
          {chosen}
        </>
      ) : (
        <Canvas picture={picture} settings={settings} shown={shown} onSelect={setSelected}>
          {chosen}
        </Canvas>
      )}
      <TimeBar picture={picture} shown={shown} />
      <Legend shown={shown} colour={colour} faults={wishes.faults} stale={wishes.stale} />
    </Stack>
  );
}

function Counts({ shown, facts, prefix }: { shown: Shown; facts: MapFacts; prefix: string }) {
  if (shown.phase === "loading") {
    return (
      <Text size="sm" mih={22}>
        {shown.objects ? `${count(shown.objects)} entries read…` : "The entries are being read…"}
      </Text>
    );
  }
  return (
    <Text size="sm" mih={22} className="figure" role="status">
      {count(shown.objects)} objects
      {shown.cut && ` of ${count(facts.size)}: narrow them by the beginning of their keys to see others`}
      {prefix && ` whose keys begin with ${prefix}`}
      {shown.faulty > 0 && ` · ${count(shown.faulty)} with faults`}
      {shown.withoutPlace > 0 && ` · ${count(shown.withoutPlace)} without a place`}
    </Text>
  );
}
