import { expect, test } from "vitest";
import { Trails } from "./trails";

test("a new piece takes the place of the oldest", () => {
  const trails = new Trails(2);
  for (const x of [1, 2, 3]) trails.add({ x, y: 7 }, { x: x + 0.5, y: 8 }, x * 10, [x, 0, 0]);
  expect(trails.count).toBe(2);
  const piece = (place: number) => ([0, 1, 2, 3, 4] as const).map((field) => trails.get(place, field));
  expect(piece(0)).toEqual([3, 7, 3.5, 8, 30]);
  expect(piece(1)).toEqual([2, 7, 2.5, 8, 20]);
  expect([...trails.colours]).toEqual([0xff000003, 0xff000002]);
  trails.clear();
  expect(trails.count).toBe(0);
});
