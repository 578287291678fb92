import { expect, test } from "vitest";
import type { Job } from "../api/client";
import { byState, pushed, totalBefore, totalRate } from "./rates";

const job = (status: Job["status"], rows_per_second: number, display_status: Job["display_status"] = status) =>
  ({ status, display_status, progress: { rows_per_second } }) as Job;

test("what a suspended job read last does not count", () => {
  expect(totalRate([job("RUNNING", 10), job("SUSPENDED", 1000), job("RUNNING", 2.5)])).toBe(12.5);
});

test("jobs are counted by state, and a cancelled one is none that has failed", () => {
  expect([...byState([job("RUNNING", 0), job("FAILED", 0), job("FAILED", 0, "CANCELLED"), job("RUNNING", 0)])]).toEqual(
    [
      ["RUNNING", 2],
      ["FAILED", 1],
      ["CANCELLED", 1],
    ],
  );
});

test("a full row of values loses its oldest", () => {
  expect(pushed([1, 2], 3, 3)).toEqual([1, 2, 3]);
  expect(pushed([1, 2, 3], 4, 3)).toEqual([2, 3, 4]);
});

test("what jobs have read before the page was opened, each figure since the one before it", () => {
  const at = (second: number) => new Date(second * 1000).toISOString();
  const one = { times: [at(98), at(100), at(101)], job: { rows_per_second: [null, 10, 20] } };
  const two = { times: [at(50), at(101)], job: { rows_per_second: [1, 5] } };
  expect(totalBefore([one, two], 103, 6)).toEqual([0, 0, 10, 10, 25, 0]);
  expect(totalBefore([], 103, 2)).toEqual([0, 0]);
  expect(totalBefore([{ times: [at(90), at(100)], job: { rows_per_second: [1, 4] } }], 98, 3)).toEqual([4, 4, 4]);
});
