import { expect, test } from "vitest";
import { type Run, readRuns, withRun } from "./history";

const run = (text: string, at = 1): Run => ({ text, at });

test("the newest comes first, and a text once", () => {
  const runs = [run("SHOW JOBS"), run("SELECT 1")];
  expect(withRun(runs, run(" SELECT 1\n", 5))).toEqual([run("SELECT 1", 5), run("SHOW JOBS")]);
});

test("blank texts, and those that are files, are not kept", () => {
  expect(withRun([], run("  "))).toEqual([]);
  expect(withRun([], run("x".repeat(20_001)))).toEqual([]);
});

test("it does not grow without end, in runs nor in letters", () => {
  let runs: Run[] = [];
  for (let n = 0; n < 150; n++) runs = withRun(runs, run(`SELECT ${n}`));
  expect([runs.length, runs[0]?.text, runs.at(-1)?.text]).toEqual([100, "SELECT 149", "SELECT 50"]);
  for (let n = 0; n < 20; n++) runs = withRun(runs, run(`${n} ${"x".repeat(15_000)}`));
  expect(runs.reduce((sum, each) => sum + each.text.length, 0)).toBeLessThanOrEqual(200_000);
});

test("what was written is read, anything else is nothing", () => {
  const runs = [run("SELECT 1"), run("SHOW JOBS")];
  expect(readRuns(JSON.stringify(runs))).toEqual(runs);
  expect(readRuns(JSON.stringify([run("SELECT 1"), { text: 3, at: 1 }, null]))).toEqual([run("SELECT 1")]);
  for (const text of [null, "", "x{", "3", "{}"]) expect(readRuns(text)).toEqual([]);
});
