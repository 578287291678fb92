import type { Picture } from "./picture";

export type Listed = {
  key: string;
  longitude: number;
  latitude: number;
  colour: unknown;
  faults: unknown[];
  at: number;
};

/** The objects of the shown moment whose keys have this in them. */
export function objectsOf(picture: Picture, part: string): Listed[] {
  const found: Listed[] = [];
  const wanted = part.toLowerCase();
  const { appearance } = picture.stage;
  for (const [key, kept] of picture.replay.entries) {
    const place = appearance.degreesOf(kept.value);
    if (!place || !key.toLowerCase().includes(wanted)) continue;
    const [longitude, latitude] = place;
    const colour = appearance.colourValue(kept.value);
    found.push({ key, longitude, latitude, colour, faults: appearance.faultsOf(kept.value), at: kept.at });
  }
  return found;
}
