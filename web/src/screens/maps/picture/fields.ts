/** Which fields of a map's values say where something is, what it can be coloured by, and what is wrong with it. */
import { numberOf, pathSteps, pathText, reader } from "../values/paths";

export type Field = { path: string; kind: "number" | "word" | "list" };
export type Place = { longitude: string; latitude: string };

const DEEPEST = 5;
const MOST_FIELDS = 200;
/** So large a part of the values tells what a field is. */
const MAJORITY = 0.8;

/** The fields of these values, each of the first kind that was seen of it, in the order seen. */
export function fieldsOf(values: unknown[]): Field[] {
  const found = new Map<string, Field>();
  for (const value of values) look([], value);
  return [...found.values()];

  function look(steps: string[], value: unknown) {
    if (found.size >= MOST_FIELDS || steps.length > DEEPEST || value === null) return;
    if (typeof value === "object" && !Array.isArray(value)) {
      for (const [name, inner] of Object.entries(value)) look([...steps, name], inner);
      return;
    }
    const pair = Array.isArray(value) && value.length >= 2 && value.length <= 3;
    if (pair && value.every((item) => typeof item === "number")) {
      for (const [place, item] of value.entries()) look([...steps, String(place)], item);
      return;
    }
    const kind = Array.isArray(value) ? "list" : numberOf(value) === null ? "word" : "number";
    const path = pathText(steps);
    if (path && !found.has(path)) found.set(path, { path, kind });
  }
}

/** The pair of fields that are coordinates by their names and by nearly all that is in them; null if there is no such pair. */
export function placeFields(values: unknown[]): Place | null {
  const paths = fieldsOf(values)
    .filter((field) => field.kind !== "list")
    .map((field) => field.path);
  // A few that are lost, or say so in words, do not hide where all the others are: they are counted as without a place.
  const within = (path: string, most: number) => {
    const read = reader(path);
    const said = values.map(read).filter((value) => value !== undefined && value !== null);
    const right = said.filter((value) => Math.abs(numberOf(value) ?? Number.NaN) <= most);
    return right.length > 0 && right.length >= MAJORITY * said.length;
  };
  const latitudes = paths.filter((path) => named(path, /(^|_)lat(itude)?(_|$)/) && within(path, 90));
  const longitudes = paths.filter((path) => named(path, /(^|_)(lon|lng|long|longitude)(_|$)/) && within(path, 180));
  for (const latitude of latitudes) {
    const longitude = longitudes.find((path) => parent(path) === parent(latitude));
    if (longitude) return { longitude, latitude };
  }
  const [longitude, latitude] = [longitudes[0], latitudes[0]];
  if (longitude && latitude) return { longitude, latitude };
  return geoJson(paths, within);
}

/** In GeoJSON the longitude comes first. */
function geoJson(paths: string[], within: (path: string, most: number) => boolean): Place | null {
  for (const path of paths) {
    const steps = pathSteps(path);
    if (steps.at(-1) !== "0" || steps.at(-2) !== "coordinates") continue;
    const latitude = pathText([...steps.slice(0, -1), "1"]);
    if (paths.includes(latitude) && within(path, 180) && within(latitude, 90)) return { longitude: path, latitude };
  }
  return null;
}

/** The list that holds what is wrong with an object, by its name; null if no list sounds so. */
export function faultField(fields: Field[]): string | null {
  const lists = fields.filter((field) => field.kind === "list").map((field) => field.path);
  return lists.find((path) => named(path, /(^|_)(obd|dtc|faults?|errors?|alarms?|alerts?|codes?)(_|$)/)) ?? null;
}

function named(path: string, name: RegExp): boolean {
  const last = pathSteps(path).at(-1) ?? "";
  return name.test(
    last
      .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
      .replaceAll(/[^A-Za-z]+/g, "_")
      .toLowerCase(),
  );
}

function parent(path: string): string {
  return pathText(pathSteps(path).slice(0, -1));
}
