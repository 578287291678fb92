import { expect, test } from "vitest";
import { degrees, mercator } from "./mercator";
import { type Look, Scene } from "./scene";

const look: Look = { colour: [1, 2, 3], fault: false, written: 5000 };
const near = (place: { x: number; y: number } | null | undefined, x: number, y: number) => {
  expect(place?.x).toBeCloseTo(x, 9);
  expect(place?.y).toBeCloseTo(y, 9);
};

test("an object is where it was put, and then moves as long as it usually takes", () => {
  const scene = new Scene();
  scene.put("a", { x: 0.5, y: 0.5 }, look, 10_000, false);
  near(scene.position("a", 10_000), 0.5, 0.5);
  expect(scene.movingUntil).toBe(10_000);
  scene.put("a", { x: 0.501, y: 0.502 }, look, 11_000, false);
  near(scene.position("a", 11_000), 0.5, 0.5);
  near(scene.position("a", 11_500), 0.5005, 0.501);
  near(scene.position("a", 12_000), 0.501, 0.502);
  near(scene.position("a", 99_000), 0.501, 0.502);
  expect(scene.movingUntil).toBe(12_000);
});

test("one that comes more seldom takes longer", () => {
  const scene = new Scene();
  scene.put("a", { x: 0.5, y: 0.5 }, look, 0, false);
  scene.put("a", { x: 0.501, y: 0.5 }, look, 6000, false);
  // 0.6 of the usual second and 0.4 of the 6 seconds that it took
  expect(scene.movingUntil).toBe(9000);
});

test("a new place on the way is gone to from where the object is", () => {
  const scene = new Scene();
  scene.put("a", { x: 0.5, y: 0.5 }, look, 0, false);
  scene.put("a", { x: 0.501, y: 0.5 }, look, 1000, false);
  scene.put("a", { x: 0.5005, y: 0.501 }, look, 1500, false);
  near(scene.position("a", 1500), 0.5005, 0.5);
});

test("jumps and very far places are not driven to", () => {
  const scene = new Scene();
  scene.put("a", { x: 0.5, y: 0.5 }, look, 0, false);
  scene.put("a", { x: 0.501, y: 0.5 }, look, 1000, true);
  near(scene.position("a", 1000), 0.501, 0.5);
  scene.put("a", { x: 0.7, y: 0.5 }, look, 2000, false);
  near(scene.position("a", 2000), 0.7, 0.5);
});

test("the place of one that is gone is taken by the last", () => {
  const scene = new Scene();
  for (const [place, key] of ["a", "b", "c"].entries()) scene.put(key, { x: 0.1 * place, y: 0 }, look, 0, true);
  scene.remove("a");
  scene.remove("nobody");
  expect(scene.keys).toEqual(["c", "b"]);
  near(scene.position("c", 0), 0.2, 0);
  expect(scene.position("a", 0)).toBeNull();
  scene.remove("b");
  expect(scene.keys).toEqual(["c"]);
  near(scene.position("c", 0), 0.2, 0);
});

test("the nearest within reach is found", () => {
  const scene = new Scene();
  scene.put("a", { x: 0.5, y: 0.5 }, look, 0, true);
  scene.put("b", { x: 0.6, y: 0.5 }, look, 0, true);
  expect(scene.nearest({ x: 0.56, y: 0.5 }, 0.05, 0)).toBe("b");
  expect(scene.nearest({ x: 0.55, y: 0.7 }, 0.05, 0)).toBeNull();
  expect(new Scene().nearest({ x: 0, y: 0 }, 1, 0)).toBeNull();
});

test("there is room for any number", () => {
  const scene = new Scene();
  for (let next = 0; next < 3000; next += 1) {
    scene.put(`k${next}`, { x: next / 3000, y: 0.5 }, { ...look, fault: next === 2999 }, 0, true);
  }
  expect(scene.count).toBe(3000);
  near(scene.position("k2999", 0), 2999 / 3000, 0.5);
  near(scene.position("k0", 0), 0, 0.5);
  expect([scene.faults[2998], scene.faults[2999], scene.written(2999)]).toEqual([0, 1, 5000]);
  expect(scene.colours[0]).toBe(0xff030201);
  const corners = scene.bounds();
  near(corners?.[0], 0, 0.5);
  near(corners?.[1], 2999 / 3000, 0.5);
  expect(new Scene().bounds()).toBeNull();
});

test("degrees and the flat world", () => {
  near(mercator(0, 0), 0.5, 0.5);
  near(mercator(-180, 85.051128779), 0, 0);
  const there = degrees(mercator(-93.26, 44.98));
  expect(there.longitude).toBeCloseTo(-93.26, 9);
  expect(there.latitude).toBeCloseTo(44.98, 9);
});
