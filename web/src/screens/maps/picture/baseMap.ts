/** The map below the objects: from files of our own, so that it is there without any network. */
import type { FeatureCollection, GeoJSON } from "geojson";
import type { GeoJSONSource, Map as MapLibreMap, StyleSpecification, SymbolLayerSpecification } from "maplibre-gl";
import { feature, mesh } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import countiesUrl from "us-atlas/counties-10m.json?url";
import statesUrl from "us-atlas/states-10m.json?url";
import worldUrl from "world-atlas/countries-50m.json?url";
import { cityLabels, labelsOf } from "./labels";

export const ATTRIBUTION = "© U.S. Census Bureau; Natural Earth";
/** Counties are drawn from here on. */
const COUNTIES_ZOOM = 5.5;

const NOTHING: FeatureCollection = { type: "FeatureCollection", features: [] };

type Tones = Record<"water" | "land" | "country" | "state" | "county" | "words" | "halo" | "trail", string>;
const LIGHT: Tones = {
  water: "#d5e4ee",
  land: "#f7f6f2",
  country: "#a9a59b",
  state: "#c4c0b5",
  county: "#e3e0d8",
  words: "#5b5d66",
  halo: "#fbfaf7",
  trail: "#0b6272",
};
const DARK: Tones = {
  water: "#141d27",
  land: "#252c34",
  country: "#5a6672",
  state: "#434d58",
  county: "#303943",
  words: "#a9b3be",
  halo: "#1b222a",
  trail: "#66d9e8",
};

/** How the map looks; its sources begin empty. */
export function baseStyle(dark: boolean): StyleSpecification {
  const tone = dark ? DARK : LIGHT;
  const empty = { type: "geojson", data: NOTHING, tolerance: 0.4 } as const;
  const line = (id: string, color: string, width: number, minzoom = 0) =>
    ({ id, type: "line", source: id, minzoom, paint: { "line-color": color, "line-width": width } }) as const;
  const words = (id: string, size: number, minzoom: number, maxzoom: number): SymbolLayerSpecification => ({
    id,
    type: "symbol",
    source: id,
    minzoom,
    maxzoom,
    layout: {
      "text-field": ["get", "name"],
      "text-size": size,
      "text-font": ["sans-serif"],
      "symbol-sort-key": ["get", "rank"],
      "text-max-width": 8,
    },
    paint: { "text-color": tone.words, "text-halo-color": tone.halo, "text-halo-width": 1.2 },
  });
  return {
    version: 8,
    sources: Object.fromEntries(
      ["land", "countries", "states", "counties", "countryWords", "stateWords", "cityWords", "trail"].map((id) => [
        id,
        empty,
      ]),
    ),
    layers: [
      { id: "water", type: "background", paint: { "background-color": tone.water } },
      { id: "land", type: "fill", source: "land", paint: { "fill-color": tone.land, "fill-antialias": false } },
      line("counties", tone.county, 0.8, COUNTIES_ZOOM),
      line("states", tone.state, 1, 2.5),
      line("countries", tone.country, 1.1),
      words("countryWords", 12, 1.5, 4),
      words("stateWords", 12, 3.6, 7),
      words("cityWords", 11.5, 4.2, 20),
      {
        ...line("trail", tone.trail, 3),
        layout: { "line-cap": "round", "line-join": "round" },
      },
    ],
  };
}

type Loaded = Record<string, GeoJSON>;
let world: Promise<Loaded> | null = null;
let counties: Promise<Loaded> | null = null;

/** Fill the sources of a map whose style has been loaded; counties once they are looked at. */
export function fillBaseMap(map: MapLibreMap) {
  const put = (found: Loaded) => {
    for (const [id, data] of Object.entries(found)) (map.getSource(id) as GeoJSONSource | undefined)?.setData(data);
  };
  const near = () => {
    if (map.getZoom() < COUNTIES_ZOOM) return;
    map.off("zoomend", near);
    counties ??= loadCounties();
    void counties.then(put, () => {
      counties = null;
    });
  };
  world ??= loadWorld();
  void world.then(put, () => {
    world = null;
  });
  map.on("zoomend", near);
  near();
}

async function topology<K extends string>(
  url: string,
): Promise<Topology<Record<K, GeometryCollection<{ name: string }>>>> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The base map could not be read: ${response.status}`);
  return response.json();
}

async function loadWorld(): Promise<Loaded> {
  const [all, us] = await Promise.all([
    topology<"countries" | "land">(worldUrl),
    topology<"states" | "nation">(statesUrl),
  ]);
  return {
    land: feature(all, all.objects.land),
    countries: mesh(all, all.objects.countries, (a, b) => a !== b),
    states: mesh(us, us.objects.states),
    countryWords: labelsOf(feature(all, all.objects.countries)),
    stateWords: labelsOf(feature(us, us.objects.states)),
    cityWords: cityLabels(),
  };
}

async function loadCounties(): Promise<Loaded> {
  const all = await topology<"counties">(countiesUrl);
  return { counties: mesh(all, all.objects.counties, (a, b) => a !== b) };
}
