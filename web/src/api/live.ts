/** What changes on the server, as it changes: one stream of events keeps the lists that the page has read up to date. */
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { eventReader } from "../logic/serverSentEvents";
import { type Cluster, type Job, type JobProgress, type MapFacts, type Snapshot, streamed } from "./client";
import { merged, type Named } from "./merge";
import { keys } from "./queries";

export type FeedKind = "job" | "progress" | "snapshot" | "map" | "cluster" | "operation";
export type FeedEvent = { kind: FeedKind; key: string; value: unknown };
export type Connection = "connecting" | "live" | "lost";

const KINDS = new Set<string>(["job", "progress", "snapshot", "map", "cluster", "operation"] satisfies FeedKind[]);
/** The server says something at least every 15 seconds. */
const SILENCE_MS = 40_000;
const LONGEST_PAUSE_MS = 10_000;
/** Events that come this close together, as those of one look of the server do, change the page once. */
const GATHER_MS = 20;

let state: Connection = "connecting";
const watchers = new Set<() => void>();
const readers = new Set<(event: FeedEvent) => void>();

function become(next: Connection) {
  if (next === state) return;
  state = next;
  for (const watcher of watchers) watcher();
}

/** Whether the page shows what is. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

/** Resolves once the server is heard, which may be now. */
export function whenLive(): Promise<void> {
  return new Promise((done) => {
    const look = () => {
      if (state === "lost") return;
      watchers.delete(look);
      done();
    };
    watchers.add(look);
    look();
  });
}

/** Calls `reader` with every event from now on; returns what ends that. */
export function onFeed(reader: (event: FeedEvent) => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}

/** Follow the server's events until the returned function is called. Streams that break are begun anew, where they broke. */
export function follow(client: QueryClient): () => void {
  let source: AbortController | null = null;
  let silence = 0;
  let again = 0;
  let pause = 500;
  let waiting: FeedEvent[] = [];
  let gathering = 0;

  const flush = () => {
    window.clearTimeout(gathering);
    gathering = 0;
    const events = waiting;
    waiting = [];
    apply(client, events);
    for (const event of events) for (const reader of readers) reader(event);
  };
  const alive = () => {
    window.clearTimeout(silence);
    silence = window.setTimeout(lost, SILENCE_MS);
    pause = 500;
    become("live");
  };
  const lost = () => {
    source?.abort();
    source = null;
    window.clearTimeout(silence);
    window.clearTimeout(again);
    flush();
    become("lost");
    // The server may have gone, or may not know any more who asks: then nothing but signing in helps.
    void client.invalidateQueries({ queryKey: keys.me });
    again = window.setTimeout(open, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  };
  const hear = (kind: string, data: string) => {
    if (kind === "heartbeat") alive();
    // A stream of ours always begins anew, so everything is read once it is open: nothing falls in between.
    if (kind === "ready" || kind === "resync") {
      alive();
      void client.invalidateQueries();
    }
    if (KINDS.has(kind)) {
      alive();
      waiting.push({ kind: kind as FeedKind, ...JSON.parse(data) });
      if (!gathering) gathering = window.setTimeout(flush, GATHER_MS);
    }
  };
  // Not an EventSource: that cannot send the key of the session.
  const read = async (own: AbortController) => {
    const reader = (await streamed("/api/v1/events", null, own.signal)).getReader();
    const letters = new TextDecoder();
    const eventsOf = eventReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      for (const event of eventsOf(letters.decode(piece.value, { stream: true }))) hear(event.kind, event.data);
    }
  };
  const open = () => {
    const own = new AbortController();
    source = own;
    const ended = () => {
      if (source === own) lost();
    };
    read(own).then(ended, ended);
  };
  open();
  return () => {
    source?.abort();
    source = null;
    for (const timer of [silence, again, gathering]) window.clearTimeout(timer);
    become("connecting");
  };
}

function apply(client: QueryClient, events: FeedEvent[]) {
  const of = (kind: FeedKind) => events.filter((event) => event.kind === kind);
  const patch = <T extends Named>(key: readonly unknown[], changes: FeedEvent[], id: (item: T) => string) => {
    if (changes.length) client.setQueryData<T[]>(key, (items) => items && merged(items, changes, id));
  };
  const jobs = of("job");
  const progress = of("progress");
  if (jobs.length || progress.length) {
    client.setQueryData<Job[]>(keys.jobs, (known) => {
      if (!known) return known;
      const before = new Map(known.map((job) => [job.id, job.progress]));
      const changed = jobs.map((event) => {
        const job = event.value as Job | null;
        return { ...event, value: job && { ...job, progress: before.get(job.id) ?? job.progress } };
      });
      const newest = new Map(progress.map((event) => [event.key, event.value as JobProgress | null]));
      const found = merged(known, changed, (job) => job.id);
      return newest.size ? found.map((job) => withProgress(job, newest.get(job.id))) : found;
    });
  }
  patch<Snapshot>(keys.snapshots, of("snapshot"), (snapshot) => snapshot.name);
  patch<MapFacts>(keys.maps, of("map"), (facts) => facts.name);
  const cluster = of("cluster").at(-1)?.value as Cluster | undefined;
  if (cluster) client.setQueryData(keys.cluster, cluster);
}

function withProgress(job: Job, progress: JobProgress | null | undefined): Job {
  return progress ? { ...job, progress } : job;
}
