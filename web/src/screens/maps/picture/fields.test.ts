import { expect, test } from "vitest";
import { faultField, fieldsOf, placeFields } from "./fields";

const VEHICLE = { vin: "A", latitude: 43.7, longitude: -93.4, time: 1700001668, obd_codes: [], provider: "alpha" };

test("the fields of the fleet are found", () => {
  expect(placeFields([VEHICLE])).toEqual({ longitude: "longitude", latitude: "latitude" });
  expect(faultField(fieldsOf([VEHICLE]))).toBe("obd_codes");
});

test("short names, other spellings and nested places are found", () => {
  const pairs: [unknown, string, string][] = [
    [{ lat: 1, lon: 2 }, "lon", "lat"],
    [{ LAT: 1, LNG: 2 }, "LNG", "LAT"],
    [{ posLat: 1, posLong: 2 }, "posLong", "posLat"],
    [{ "gps-lat": "1.5", "gps-lon": "2" }, "gps-lon", "gps-lat"],
    [{ position: { lat: 1, lon: 2 } }, "position.lon", "position.lat"],
    [{ lat: { deg: 3 }, to: { lat: 1, lng: 2 } }, "to.lng", "to.lat"],
    [{ "a.b": { lat: 1, lon: 2 } }, "a\\.b.lon", "a\\.b.lat"],
    [{ geometry: { type: "Point", coordinates: [-93, 44] } }, "geometry.coordinates.0", "geometry.coordinates.1"],
  ];
  for (const [value, longitude, latitude] of pairs) expect(placeFields([value])).toEqual({ longitude, latitude });
});

test("a pair of the same parent comes before others", () => {
  const value = { from: { lon: 1 }, to: { lat: 2, lon: 3 } };
  expect(placeFields([value])).toEqual({ longitude: "to.lon", latitude: "to.lat" });
});

test("names that only sound so, and numbers that are no degrees, are no coordinates", () => {
  for (const value of [
    { flat: 1, along: 2 },
    { latency: 1, longest: 2 },
    { lat: 44 },
    { lat: 91, lon: 2 },
    { lat: 1, lon: 181 },
    { lat: "north", lon: "west" },
    { coordinates: [1, 99] },
    null,
    "x",
    [1, 2],
  ]) {
    expect(placeFields([value])).toBeNull();
  }
  expect(placeFields([])).toBeNull();
});

test("values that have no place do not hinder", () => {
  expect(placeFields([null, { vin: "B" }, VEHICLE])).toEqual({ longitude: "longitude", latitude: "latitude" });
});

test("a few that are lost do not hide where the others are", () => {
  const lost = [95, 1e300, "unknown", true].map((latitude) => ({ ...VEHICLE, latitude }));
  const many = Array.from({ length: 16 }, () => VEHICLE);
  expect(placeFields([...lost, ...many])).toEqual({ longitude: "longitude", latitude: "latitude" });
  expect(placeFields([...lost, ...many.slice(1)])).toBeNull();
  const point = (latitude: number) => ({ coordinates: [-93, latitude] });
  expect(placeFields([point(95), ...Array.from({ length: 9 }, () => point(44))])).toEqual({
    longitude: "coordinates.0",
    latitude: "coordinates.1",
  });
});

test("each field has one kind", () => {
  expect(
    fieldsOf([
      { n: 1, w: "x", l: ["a"], o: { t: true } },
      { n: "none", late: "5" },
    ]),
  ).toEqual([
    { path: "n", kind: "number" },
    { path: "w", kind: "word" },
    { path: "l", kind: "list" },
    { path: "o.t", kind: "word" },
    { path: "late", kind: "number" },
  ]);
});
