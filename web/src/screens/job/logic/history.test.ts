import { expect, test } from "vitest";
import type { JobHistory } from "../../../api/client";
import { fresh, mergedHistory, readAfter, restartsOf, withValues } from "./history";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const history = (times: number[], job: JobHistory["job"], stages: JobHistory["stages"] = {}): JobHistory => ({
  step: "second",
  times: times.map(at),
  job,
  parts_ms: {},
  stages,
});

test("a page that overlaps what is known replaces it, but for the rate that its first moment lacks", () => {
  const known = history([1, 2, 3], { epoch: [10, 11, 12], rows_per_second: [null, 5, 6] });
  const page = history([2, 3, 4], { epoch: [11, 13, 14], rows_per_second: [null, 7, 8] });
  const found = mergedHistory(known, page);
  expect(found.times).toEqual([1, 2, 3, 4].map(at));
  expect(found.job).toEqual({ epoch: [10, 11, 13, 14], rows_per_second: [null, 5, 7, 8] });
});

test("an empty page changes nothing, and a first page is all there is", () => {
  const known = history([1], { epoch: [1] });
  expect(mergedHistory(known, history([], {}))).toBe(known);
  expect(mergedHistory(undefined, known)).toBe(known);
});

test("a page far behind what is known follows it", () => {
  const found = mergedHistory(history([1], { epoch: [1] }), history([9], { epoch: [2] }));
  expect(found.times).toEqual([1, 9].map(at));
  expect(found.job.epoch).toEqual([1, 2]);
});

test("what is older than the server keeps it is let go", () => {
  const found = mergedHistory(history([0, 30], { epoch: [1, 2] }), history([920], { epoch: [3] }));
  expect(found.times).toEqual([30, 920].map(at));
  expect(found.job.epoch).toEqual([2, 3]);
});

test("stages that come or go have no values before or after", () => {
  const known = history([1, 2], {}, { a: { rows_in: [1, 2] } });
  const found = mergedHistory(known, history([3], {}, { b: { rows_in: [7] } }));
  expect(found.stages).toEqual({ a: { rows_in: [1, 2, null] }, b: { rows_in: [null, null, 7] } });
});

test("the next page begins two moments before the last", () => {
  expect(readAfter(undefined)).toBe(0);
  expect(readAfter(history([1, 2], {}))).toBe(0);
  expect(readAfter(history([1, 2, 3, 4], {}))).toBe(Date.UTC(2026, 0, 1, 0, 0, 2) / 1000);
});

test("a run with another number is a restart", () => {
  expect(restartsOf(history([1, 2, 3, 4], { run: [1, 1, 2, null] }))).toEqual([{ at: at(3), label: "Restart: run 2" }]);
});

test("a figure is shown while it is fresh", () => {
  const now = Date.parse(at(70));
  expect(fresh([1, 5], [at(9), at(10)], now, 60)).toBe(5);
  expect(fresh([1, 5], [at(8), at(9)], now, 60)).toBeNull();
  expect(fresh(undefined, [], now, 60)).toBeNull();
});

test("columns without values are left out", () => {
  expect(withValues({ a: [null, 0], b: [null] })).toEqual([["a", [null, 0]]]);
});
