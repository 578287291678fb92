import { createSpotlight, Spotlight, type SpotlightActionData, useSpotlight } from "@mantine/spotlight";
import { IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useJobs, useMaps, useSnapshots } from "../api/queries";
import { type DirectVerb, isDialog, isDirect } from "../logic/verbs";
import { tellProblem } from "../parts/confirm";
import { useAction } from "../parts/useAction";
import { useViewerRefusal } from "../parts/viewer";
import { askPlain } from "../screens/job/api/act";
import { useRefusalsOf } from "../screens/job/api/verbs";
import { type Entry, entriesFor, type Group, jobsMeant, type Target } from "./entries";

const [store, { open }] = createSpotlight();
/** Shows the palette. */
export const openPalette = open;

/** Ctrl K: every place, job, snapshot and map by a few letters of its name, and what can be done with a job. */
export function Palette() {
  const { opened } = useSpotlight(store);
  const jobs = useJobs().data ?? [];
  const snapshots = useSnapshots().data ?? [];
  const maps = useMaps().data ?? [];
  const viewer = useViewerRefusal();
  const [query, setQuery] = useState("");
  const refusals = useRefusalsOf(opened ? jobsMeant(query, jobs) : []);
  const openTarget = useOpen();
  const last = useRef<Group[]>([]);
  // Lists change many times a second; entries are made while somebody looks, and stay while it closes.
  const offered = (query: string) => {
    if (opened) last.current = entriesFor(query, { jobs, snapshots, maps, viewer, refusals });
    return last.current.map(({ group, entries }) => ({
      group,
      actions: entries.map((each) => shown(each, openTarget)),
    }));
  };
  return (
    <Spotlight
      store={store}
      actions={[]}
      query={query}
      onQueryChange={setQuery}
      filter={offered}
      shortcut={["mod + K"]}
      nothingFound="Nothing of that name"
      highlightQuery
      scrollable
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: "A job, a snapshot, a map, a place…",
        "aria-label": "Find or do",
      }}
    />
  );
}

/** Goes where an entry leads. What can be taken back is done at once, as on the screen of the job; all else is asked there. */
function useOpen() {
  const go = useNavigate();
  const plain = useAction({
    mutationFn: ({ job, verb }: { job: string; verb: DirectVerb }) => askPlain(job, verb),
    onError: tellProblem,
  });
  return (target: Target) => {
    switch (target.to) {
      case "place":
        return void go({ to: target.path });
      case "snapshot":
        return void go({ to: "/snapshots/$snapshot", params: { snapshot: target.snapshot } });
      case "map":
        return void go({ to: "/maps/$map", params: { map: target.map } });
      case "job": {
        const { job, verb } = target;
        if (verb === "update") return void go({ to: "/jobs/$job/update", params: { job } });
        if (verb !== undefined && isDirect(verb)) plain.mutate({ job, verb });
        return void go({ to: "/jobs/$job", params: { job }, search: isDialog(verb) ? { do: verb } : {} });
      }
    }
  };
}

function shown(entry: Entry, openTarget: (target: Target) => void): SpotlightActionData {
  const { id, label, description, refused, target } = entry;
  if (refused === null) return { id, label, description, onClick: () => openTarget(target) };
  return { id, label, description, "aria-disabled": true, closeSpotlightOnTrigger: false };
}
