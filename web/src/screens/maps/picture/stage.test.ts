import { expect, test } from "vitest";
import type { Kept } from "./replay";
import { Stage } from "./stage";

const at = (lat: unknown, codes: string[] = [], written = 1000): Kept => ({
  value: { lat, lon: -93, codes },
  at: written,
});

function staged(entries: Map<string, Kept>): Stage {
  const stage = new Stage({ longitude: "lon", latitude: "lat" }, entries);
  stage.appearance.faultsBy("codes");
  stage.begin();
  return stage;
}

test("entries with a place stand on the map, those without are counted", () => {
  const stage = staged(
    new Map([
      ["a", at(44)],
      ["far", at(91)],
      ["b", at(45, ["P0101"])],
      ["none", at(null)],
    ]),
  );
  expect(stage.scene.keys).toEqual(["a", "b"]);
  expect([...stage.placeless]).toEqual(["far", "none"]);
  expect([...stage.faulty]).toEqual(["b"]);
});

test("what changes moves, what goes is taken away", () => {
  const entries = new Map([
    ["a", at(44, ["P0101"])],
    ["b", at(45)],
  ]);
  const stage = staged(entries);
  const before = stage.scene.position("a", 0);
  entries.set("a", at(44.01, [], 2000));
  entries.delete("b");
  stage.show(["a", "b"], false, 0);
  expect(stage.scene.position("a", 0)).toEqual(before);
  expect(stage.scene.position("a", 60_000)?.y).toBeLessThan(before?.y ?? 0);
  expect([stage.scene.keys, [...stage.faulty]]).toEqual([["a"], []]);
  entries.set("a", at("lost"));
  stage.show(["a"], false, 0);
  expect([stage.scene.count, [...stage.placeless]]).toEqual([0, ["a"]]);
});

test("trails are kept only if they are wished, and not of jumps", () => {
  const entries = new Map([["a", at(44)]]);
  const stage = staged(entries);
  const move = (lat: number, jump: boolean) => {
    entries.set("a", at(lat));
    stage.show(["a"], jump, 0);
  };
  move(44.01, false);
  expect(stage.trails.count).toBe(0);
  stage.trailsOfAll(true);
  move(44.02, false);
  move(44.03, false);
  expect(stage.trails.count).toBe(2);
  move(44.04, true);
  expect(stage.trails.count).toBe(0);
});
