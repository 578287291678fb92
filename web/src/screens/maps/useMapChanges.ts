import { useEffect, useRef } from "react";
import type { MapFacts } from "../../api/client";
import { useMaps } from "../../api/queries";

/** A map and its journal as the events tell them; undefined until they are known, null if there is no such map. */
export function useMap(name: string): { facts: MapFacts | null | undefined; query: ReturnType<typeof useMaps> } {
  const query = useMaps();
  return { facts: query.data && (query.data.find((map) => map.name === name) ?? null), query };
}

/** Calls `wake` when entries of the map have changed: at once, but not again within `ms`. */
export function useMapChanges(facts: MapFacts, ms: number, wake: () => void) {
  const seen = `${facts.newest} ${facts.size}`;
  const latest = useRef(wake);
  const known = useRef(seen);
  const timing = useRef({ next: 0, timer: 0 });
  latest.current = wake;
  useEffect(() => {
    if (known.current === seen) return;
    known.current = seen;
    const now = Date.now();
    const { next, timer } = timing.current;
    if (timer) return;
    const call = () => {
      timing.current = { next: Date.now() + ms, timer: 0 };
      latest.current();
    };
    if (now >= next) call();
    else timing.current.timer = window.setTimeout(call, next - now);
  }, [seen, ms]);
  useEffect(() => () => window.clearTimeout(timing.current.timer), []);
}
