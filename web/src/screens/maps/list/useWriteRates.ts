import { useEffect, useState } from "react";
import type { MapFacts } from "../../../api/client";
import { useNow } from "../../../parts/When";
import { WriteRates } from "./rates";

/** Writes per second of each map, now. */
export function useWriteRates(maps: MapFacts[] | undefined): (map: string) => number | null {
  const [rates] = useState(() => new WriteRates());
  const now = useNow();
  useEffect(() => {
    for (const map of maps ?? []) rates.saw(map.name, map.newest, Date.now());
  }, [maps, rates]);
  return (map) => rates.perSecond(map, now);
}
