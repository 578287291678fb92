/** Where names are written on the map. */
import type { Feature, FeatureCollection, Geometry, Point, Position } from "geojson";

type Named = { name: string; rank?: number };

/** The name of each area in the middle of its largest part; the larger, the more important. */
export function labelsOf(areas: FeatureCollection<Geometry | null, Named>): FeatureCollection<Point, Named> {
  const features: Feature<Point, Named>[] = [];
  for (const area of areas.features) {
    const rings = outerRings(area.geometry).map(middle);
    const largest = rings.sort((a, b) => b.size - a.size)[0];
    if (!largest || !area.properties?.name) continue;
    features.push(label(area.properties.name, largest.at, -largest.size));
  }
  return { type: "FeatureCollection", features };
}

function outerRings(geometry: Geometry | null): Position[][] {
  if (geometry?.type === "Polygon") return geometry.coordinates.slice(0, 1);
  if (geometry?.type === "MultiPolygon") return geometry.coordinates.flatMap((polygon) => polygon.slice(0, 1));
  return [];
}

/** The centre of mass and the size of what a ring encloses. */
export function middle(ring: Position[]): { at: Position; size: number } {
  let [twice, east, north] = [0, 0, 0];
  for (const [place, [x = 0, y = 0]] of ring.entries()) {
    const [nextX = 0, nextY = 0] = ring[(place + 1) % ring.length] ?? [];
    const cross = x * nextY - nextX * y;
    twice += cross;
    east += (x + nextX) * cross;
    north += (y + nextY) * cross;
  }
  if (twice === 0) return { at: ring[0] ?? [0, 0], size: 0 };
  return { at: [east / (3 * twice), north / (3 * twice)], size: Math.abs(twice) / 2 };
}

function label(name: string, at: Position, rank: number): Feature<Point, Named> {
  return { type: "Feature", properties: { name, rank }, geometry: { type: "Point", coordinates: at } };
}

/** Longitude and latitude in degrees; the largest cities come first. */
const CITIES: [string, number, number][] = [
  ["New York", -74.01, 40.71],
  ["Los Angeles", -118.24, 34.05],
  ["Chicago", -87.63, 41.88],
  ["Houston", -95.37, 29.76],
  ["Dallas", -96.8, 32.78],
  ["Atlanta", -84.39, 33.75],
  ["Miami", -80.19, 25.76],
  ["Philadelphia", -75.17, 39.95],
  ["Washington", -77.04, 38.91],
  ["Boston", -71.06, 42.36],
  ["Phoenix", -112.07, 33.45],
  ["San Francisco", -122.42, 37.77],
  ["Seattle", -122.33, 47.61],
  ["Minneapolis", -93.27, 44.98],
  ["Denver", -104.99, 39.74],
  ["St. Louis", -90.2, 38.63],
  ["Kansas City", -94.58, 39.1],
  ["Detroit", -83.05, 42.33],
  ["San Diego", -117.16, 32.72],
  ["San Antonio", -98.49, 29.42],
  ["Austin", -97.74, 30.27],
  ["Portland", -122.68, 45.52],
  ["Salt Lake City", -111.89, 40.76],
  ["Las Vegas", -115.14, 36.17],
  ["New Orleans", -90.07, 29.95],
  ["Memphis", -90.05, 35.15],
  ["Nashville", -86.78, 36.16],
  ["Oklahoma City", -97.52, 35.47],
  ["Omaha", -95.93, 41.26],
  ["Des Moines", -93.61, 41.59],
  ["Milwaukee", -87.91, 43.04],
  ["Indianapolis", -86.16, 39.77],
  ["Columbus", -83.0, 39.96],
  ["Cleveland", -81.69, 41.5],
  ["Pittsburgh", -80.0, 40.44],
  ["Charlotte", -80.84, 35.23],
  ["Wichita", -97.34, 37.69],
  ["Tulsa", -95.99, 36.15],
  ["Little Rock", -92.29, 34.75],
  ["Sioux Falls", -96.73, 43.55],
  ["Fargo", -96.79, 46.88],
  ["Rapid City", -103.23, 44.08],
  ["Springfield", -93.29, 37.21],
  ["Jackson", -90.18, 32.3],
  ["Albuquerque", -106.65, 35.08],
  ["El Paso", -106.49, 31.76],
  ["Amarillo", -101.83, 35.22],
  ["Boise", -116.2, 43.62],
  ["Billings", -108.5, 45.78],
  ["Duluth", -92.1, 46.79],
  ["Anchorage", -149.9, 61.22],
  ["Honolulu", -157.86, 21.31],
  ["Toronto", -79.38, 43.65],
  ["Montreal", -73.57, 45.5],
  ["Vancouver", -123.12, 49.28],
  ["Winnipeg", -97.14, 49.9],
  ["Mexico City", -99.13, 19.43],
  ["Monterrey", -100.32, 25.69],
  ["London", -0.13, 51.51],
  ["Paris", 2.35, 48.86],
  ["Berlin", 13.4, 52.52],
  ["Madrid", -3.7, 40.42],
  ["Rome", 12.5, 41.9],
  ["Vienna", 16.37, 48.21],
  ["Warsaw", 21.01, 52.23],
  ["Stockholm", 18.07, 59.33],
  ["Istanbul", 28.98, 41.01],
  ["Cairo", 31.24, 30.04],
  ["Lagos", 3.38, 6.52],
  ["Nairobi", 36.82, -1.29],
  ["Johannesburg", 28.05, -26.2],
  ["Dubai", 55.27, 25.2],
  ["Mumbai", 72.88, 19.08],
  ["Delhi", 77.21, 28.61],
  ["Singapore", 103.82, 1.35],
  ["Hong Kong", 114.17, 22.32],
  ["Shanghai", 121.47, 31.23],
  ["Seoul", 126.98, 37.57],
  ["Tokyo", 139.69, 35.69],
  ["Sydney", 151.21, -33.87],
  ["São Paulo", -46.63, -23.55],
  ["Buenos Aires", -58.38, -34.6],
  ["Lima", -77.04, -12.05],
  ["Bogotá", -74.07, 4.71],
];

/** Some large cities, to know where one is. */
export function cityLabels(): FeatureCollection<Point, Named> {
  return {
    type: "FeatureCollection",
    features: CITIES.map(([name, longitude, latitude], rank) => label(name, [longitude, latitude], rank)),
  };
}
