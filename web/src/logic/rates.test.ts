import { expect, test } from "vitest";
import type { Job } from "../api/client";
import { byState, pushed, totalRate } from "./rates";

const job = (status: Job["status"], rows_per_second: number) => ({ status, progress: { rows_per_second } }) as Job;

test("what a suspended job read last does not count", () => {
  expect(totalRate([job("RUNNING", 10), job("SUSPENDED", 1000), job("RUNNING", 2.5)])).toBe(12.5);
});

test("jobs are counted by state", () => {
  expect([...byState([job("RUNNING", 0), job("FAILED", 0), job("RUNNING", 0)])]).toEqual([
    ["RUNNING", 2],
    ["FAILED", 1],
  ]);
});

test("a full row of values loses its oldest", () => {
  expect(pushed([1, 2], 3, 3)).toEqual([1, 2, 3]);
  expect(pushed([1, 2, 3], 4, 3)).toEqual([2, 3, 4]);
});
