import { expect, test } from "vitest";
import { over, packed, Raster, Stamp } from "./raster";

const RED = packed([255, 0, 0]);
const BLUE = packed([0, 0, 255]);

function raster(width: number, height: number): Raster {
  const made = new Raster();
  made.clear(width, height);
  return made;
}

const at = (one: Raster, x: number, y: number) => one.pixels[y * one.width + x] as number;

test("colours are packed as a canvas takes them", () => {
  expect(packed([1, 2, 3])).toBe(0xff030201);
  expect([...new Uint8Array(new Uint32Array([packed([1, 2, 3], 4)]).buffer)]).toEqual([1, 2, 3, 4]);
});

test("a disc has its rim around what is in it, and nothing around that", () => {
  const one = raster(20, 20);
  one.stamp(new Stamp({ radius: 5, rim: 2, rimColour: RED, fill: BLUE }), 10, 10);
  expect(at(one, 10, 10)).toBe(BLUE);
  expect(at(one, 9, 9)).toBe(BLUE);
  expect(at(one, 13, 10)).toBe(RED);
  expect(at(one, 6, 10)).toBe(RED);
  expect(at(one, 16, 10)).toBe(0);
  expect(at(one, 14, 14)).toBe(0);
});

test("a ring leaves what is in it as it is", () => {
  const one = raster(20, 20);
  one.stamp(new Stamp({ radius: 6, rim: 2, rimColour: RED, fill: null }), 10, 10);
  expect(at(one, 10, 10)).toBe(0);
  expect(at(one, 14, 10)).toBe(RED);
});

test("a later disc is above an earlier one", () => {
  const one = raster(20, 20);
  for (const fill of [RED, BLUE]) one.stamp(new Stamp({ radius: 4, rim: 0, rimColour: fill, fill }), 10, 10);
  expect(at(one, 10, 10)).toBe(BLUE);
});

test("what lies outside is cut, on every side", () => {
  const stamp = new Stamp({ radius: 3, rim: 0, rimColour: RED, fill: RED });
  const one = raster(10, 10);
  for (const [x, y] of [
    [0, 0],
    [9.5, 9.5],
    [-50, 5],
    [5, 99],
    [-3, 5],
  ] as const) {
    one.stamp(stamp, x, y);
  }
  expect(at(one, 0, 0)).toBe(RED);
  expect(at(one, 9, 9)).toBe(RED);
  expect(at(one, 9, 0)).toBe(0);
  expect(at(one, 0, 5)).toBe(0);
});

test("between two pixels a disc is on both, half", () => {
  const one = raster(10, 3);
  one.stamp(new Stamp({ radius: 0.5, rim: 0, rimColour: RED, fill: RED }), 5, 1.5);
  expect(at(one, 4, 1) >>> 24).toBe(at(one, 5, 1) >>> 24);
  expect(at(one, 4, 1) >>> 24).toBeGreaterThan(90);
});

test("lines go from end to end, and not further", () => {
  const one = raster(6, 6);
  one.line(1, 1, 4, 4, BLUE);
  expect([...one.pixels.keys()].filter((place) => one.pixels[place])).toEqual([7, 14, 21, 28]);
  one.line(0, 0, 1e9, 0, RED);
  expect(at(one, 3, 0)).toBe(0);
});

test("half a pixel over another mixes them", () => {
  // 129 and 127 of 256 parts
  expect(over(packed([255, 0, 0], 128), packed([0, 8, 255]))).toBe(packed([128, 3, 126]));
  expect(over(packed([200, 100, 0], 255), packed([0, 0, 255]))).toBe(packed([200, 100, 0]));
  expect(over(packed([100, 0, 0], 51), packed([0, 0, 200], 255))).toBe(packed([19, 0, 160]));
  expect(over(packed([100, 0, 0], 128), packed([100, 0, 0], 128))).toBe(packed([100, 0, 0], 192));
  expect(over(packed([255, 0, 0], 128), packed([0, 0, 0], 0))).toBe(packed([255, 0, 0], 128));
});

test("clearing takes all away", () => {
  const one = raster(4, 4);
  one.line(0, 0, 3, 3, RED);
  one.clear(4, 4);
  expect(one.pixels.every((pixel) => pixel === 0)).toBe(true);
});
