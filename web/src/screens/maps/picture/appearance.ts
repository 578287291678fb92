/** How values become objects: where they are, in which colour, and whether something is wrong with them. */
import { numberOf, reader } from "../values/paths";
import { colouring, PLAIN, type Scale, scaleOf } from "./colours";
import type { Place } from "./fields";
import { mercator, type Point } from "./mercator";
import type { Kept } from "./replay";
import type { Look } from "./scene";

type Read = (value: unknown) => unknown;

export class Appearance {
  scale: Scale = { kind: "plain", colour: PLAIN };
  private colour = colouring(this.scale);
  private coloured: Read | null = null;
  private faults: Read | null = null;
  private readonly longitude: Read;
  private readonly latitude: Read;

  constructor(place: Place) {
    this.longitude = reader(place.longitude);
    this.latitude = reader(place.latitude);
  }

  colourBy(path: string | null) {
    this.coloured = path === null ? null : reader(path);
  }

  faultsBy(path: string | null) {
    this.faults = path === null ? null : reader(path);
  }

  /** Make the scale anew for these values. */
  rescale(entries: Iterable<Kept>) {
    const { coloured } = this;
    this.scale = scaleOf(coloured ? Array.from(entries, (kept) => coloured(kept.value)) : []);
    this.colour = colouring(this.scale);
  }

  /** Longitude and latitude; null if the value has none. */
  degreesOf(value: unknown): [number, number] | null {
    const longitude = numberOf(this.longitude(value));
    const latitude = numberOf(this.latitude(value));
    if (longitude === null || latitude === null || Math.abs(longitude) > 180 || Math.abs(latitude) > 90) return null;
    return [longitude, latitude];
  }

  placeOf(value: unknown): Point | null {
    const found = this.degreesOf(value);
    return found && mercator(...found);
  }

  colourValue(value: unknown): unknown {
    return this.coloured?.(value);
  }

  faultsOf(value: unknown): unknown[] {
    const found = this.faults?.(value);
    return Array.isArray(found) ? found : [];
  }

  lookOf(kept: Kept): Look {
    const fault = this.faultsOf(kept.value).length > 0;
    return { colour: this.colour(this.coloured?.(kept.value)), fault, written: kept.at };
  }
}
