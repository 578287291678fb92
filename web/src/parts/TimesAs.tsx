import { SegmentedControl } from "@mantine/core";
import { useSyncExternalStore } from "react";
import type { TimesAs } from "../logic/format";

const KEY = "pitstop-times-as";
const CHOICES: { value: TimesAs; label: string }[] = [
  { value: "relative", label: "Ago" },
  { value: "local", label: "Time" },
  { value: "utc", label: "UTC" },
];
const watchers = new Set<() => void>();
let chosen: TimesAs = CHOICES.find(({ value }) => value === window.localStorage.getItem(KEY))?.value ?? "relative";

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function choose(next: TimesAs): void {
  chosen = next;
  window.localStorage.setItem(KEY, next);
  for (const each of watchers) each();
}

/** How this reader wants moments, on all screens. */
export function useTimesAs(): TimesAs {
  return useSyncExternalStore(watch, () => chosen);
}

/** Chooses how moments are written on all screens; remembered. */
export function TimesAsControl() {
  return (
    <SegmentedControl
      size="xs"
      aria-label="How times are written"
      data={CHOICES}
      value={useTimesAs()}
      onChange={(value) => choose(value as TimesAs)}
    />
  );
}
