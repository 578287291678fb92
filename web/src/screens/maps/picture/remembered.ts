/** What a reader has chosen for the picture of a map: kept in this browser, so that it is chosen once. */

export type Choice = {
  longitude?: string;
  latitude?: string;
  /** The field that colours the objects. */
  colour?: string;
  /** The list of what is wrong with an object; null: no field is to be taken for one. */
  faults?: string | null;
};

const KEY = "pitstop.picture";
/** So many maps are remembered, those that were chosen for last. */
const MOST = 50;

/** All choices with another one for this map. */
export function withChoice(text: string | null, map: string, change: Choice): string {
  const before = choices(text);
  const { [map]: known = {}, ...others } = before;
  const kept = Object.entries(others).slice(-(MOST - 1));
  return JSON.stringify(Object.fromEntries([...kept, [map, { ...known, ...change }]]));
}

/** What was chosen for this map, as far as it has the form that this page writes. */
export function choiceOf(text: string | null, map: string): Choice {
  const all = choices(text);
  const known: Choice = Object.hasOwn(all, map) ? (all[map] ?? {}) : {};
  const found: Choice = {};
  if (typeof known.longitude === "string" && typeof known.latitude === "string") {
    Object.assign(found, { longitude: known.longitude, latitude: known.latitude });
  }
  if (typeof known.colour === "string") found.colour = known.colour;
  if (typeof known.faults === "string" || known.faults === null) found.faults = known.faults;
  return found;
}

export function remembered(map: string): Choice {
  try {
    return choiceOf(window.localStorage.getItem(KEY), map);
  } catch {
    return {};
  }
}

export function remember(map: string, change: Choice) {
  try {
    window.localStorage.setItem(KEY, withChoice(window.localStorage.getItem(KEY), map, change));
  } catch {
    // No room, or not allowed: then the address alone has it.
  }
}

function choices(text: string | null): Record<string, Choice> {
  try {
    const found: unknown = JSON.parse(text ?? "{}");
    const entries = typeof found === "object" && found !== null && !Array.isArray(found) ? Object.entries(found) : [];
    return Object.fromEntries(entries.filter(([, choice]) => typeof choice === "object" && choice !== null));
  } catch {
    return {};
  }
}
