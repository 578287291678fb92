import { Tooltip } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { exact, moment } from "../logic/format";
import { useTimesAs } from "./TimesAs";

let now = Date.now();
let timer = 0;
const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  if (!timer) {
    timer = window.setInterval(() => {
      now = Date.now();
      for (const each of watchers) each();
    }, 1000);
  }
  return () => {
    watchers.delete(watcher);
    if (!watchers.size) {
      window.clearInterval(timer);
      timer = 0;
    }
  };
}

/** The time, once a second, in milliseconds: one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => now);
}

/** A moment as the reader wants moments (`TimesAsControl`), and all of it for who points at it. */
export function When({ at }: { at: string | null | undefined }) {
  const text = moment(at, useNow(), useTimesAs());
  if (!at) return <span>{text}</span>;
  return (
    <Tooltip label={exact(at)} openDelay={300} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at}>{text}</time>
    </Tooltip>
  );
}
