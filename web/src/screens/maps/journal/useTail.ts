import { useCallback, useEffect, useRef, useState } from "react";
import type { MapFacts } from "../../../api/client";
import { exactPage } from "./pages";
import { JournalReader } from "./reader";
import { begun, caughtUp, isFull, type Page, startOf, type Tail, taken } from "./tail";

const PAGE = 1000;

/** The newest events of a map's journal, read on as it is written; begun anew with another prefix or start. */
export function useTail(facts: MapFacts, from: number | null, prefix: string, paused: boolean) {
  const now = useRef({ facts, paused });
  now.current = { facts, paused };
  const reader = useRef<JournalReader | null>(null);
  const [tail, setTail] = useState<Tail>(() => begun(startOf(facts, from, prefix)));
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let known = begun(startOf(now.current.facts, from, prefix));
    const show = (next: Tail) => {
      known = next;
      setTail(next);
    };
    show(known);
    const after = () => {
      const { facts, paused } = now.current;
      if (paused || isFull(known, from)) return null;
      if (!prefix && from === null) known = caughtUp(known, facts.newest);
      return known.after;
    };
    let first = true;
    const take = (page: Page) => {
      // Nobody has lost what was dropped before anybody asked for it.
      const lost = first && from === null ? 0 : page.lost;
      first = false;
      // A map that was made anew counts from 1 again.
      show(page.newest < known.after ? begun(0) : taken(known, { ...page, lost }, prefix));
    };
    const map = now.current.facts.name;
    const reading = new JournalReader({ map, limit: PAGE, after, take, read: exactPage, failed: setError });
    reader.current = reading;
    reading.wake();
    return () => reading.stop();
  }, [from, prefix]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is written, and the end of a pause, wake the reader
  useEffect(() => reader.current?.wake(), [facts.newest, paused]);
  const retry = useCallback(() => reader.current?.wake(), []);
  return { tail, error, retry, full: isFull(tail, from), waiting: Math.max(0, facts.newest - tail.after) };
}
