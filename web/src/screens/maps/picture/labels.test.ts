import { expect, test } from "vitest";
import { labelsOf, middle } from "./labels";

const SQUARE = [
  [0, 0],
  [4, 0],
  [4, 2],
  [0, 2],
  [0, 0],
];

test("the middle of a ring is its centre of mass", () => {
  expect(middle(SQUARE)).toEqual({ at: [2, 1], size: 8 });
  expect(middle([[3, 4]])).toEqual({ at: [3, 4], size: 0 });
});

test("a name stands on the largest part", () => {
  const small = SQUARE.map(([x = 0, y = 0]) => [100 + x / 2, y / 2]);
  const geometry = { type: "MultiPolygon" as const, coordinates: [[small], [SQUARE]] };
  const found = labelsOf({
    type: "FeatureCollection",
    features: [
      { type: "Feature", properties: { name: "Two" }, geometry },
      { type: "Feature", properties: { name: "Nowhere" }, geometry: null },
    ],
  });
  expect(found.features.map((one) => [one.properties.name, one.geometry.coordinates, one.properties.rank])).toEqual([
    ["Two", [2, 1], -8],
  ]);
});
