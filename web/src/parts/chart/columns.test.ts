import { expect, test } from "vitest";
import { sparkPaths, stacked, summary, usualGap, withGaps } from "./columns";

test("a moment without values stands in the middle of a gap", () => {
  expect(withGaps([10, 11, 21], [[1, 2, 3]], 5)).toEqual({ times: [10, 11, 16, 21], columns: [[1, 2, null, 3]] });
});

test("what is no number is no value", () => {
  expect(withGaps([1, 2], [[Number.NaN, null]], 5).columns).toEqual([[null, null]]);
  expect(summary([null, Number.NaN])).toBeNull();
});

test("a gap is five times the usual distance, at least what was said", () => {
  expect(usualGap([0, 10, 20, 30, 300], 5)).toBe(50);
  expect(usualGap([0, 1, 2], 30)).toBe(30);
  expect(usualGap([], 30)).toBe(30);
});

test("stacked columns stand upon each other, and nothing upon nothing is nothing", () => {
  expect(
    stacked([
      [1, null, null],
      [2, 3, null],
    ]),
  ).toEqual([
    [1, null, null],
    [3, 3, null],
  ]);
});

test("the summary tells the last, least and greatest", () => {
  expect(summary([3, 1, null, 7, 2, null])).toEqual({ last: 2, least: 1, most: 7 });
});

test("a small line is in pieces where values lack", () => {
  // Height 12: ten pixels between least (11) and most (1).
  expect(sparkPaths([0, 10, null, 5], 30, 12)).toEqual(["M 0.0 11.0 L 10.0 1.0", "M 30.0 6.0 L 30.0 6.0"]);
  expect(sparkPaths([], 30, 12)).toEqual([]);
});
