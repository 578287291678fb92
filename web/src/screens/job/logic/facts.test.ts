import { expect, test } from "vitest";
import type { Job, JobGraph, JobHistory } from "../../../api/client";
import { comparedGraphs, factsOf, leftOut } from "./facts";

const now = Date.UTC(2026, 0, 1, 0, 1, 0);
const history = {
  step: "second",
  times: ["2026-01-01T00:00:58Z", "2026-01-01T00:00:59Z"],
  job: {},
  parts_ms: {},
  stages: { a: { rows_out: [1, 9], rows_out_per_second: [null, 8] }, s: { rows_in_per_second: [null, 7] } },
} satisfies JobHistory;
const job = (status: Job["status"]) =>
  ({
    status,
    config: { snapshot_interval_ms: 10_000 },
    progress: { epoch_ms: 400, stages: { a: { state_rows: 3, state_bytes: 100, state_ms: 100, late_rows: "x" } } },
  }) as unknown as Job;

test("a running job's stages have their last rates beside what they keep", () => {
  expect(factsOf(job("RUNNING"), history, now)).toEqual({
    a: { stateRows: 3, stateBytes: 100, lateRows: null, share: 0.25, rowsPerSecond: 8 },
    s: { rowsPerSecond: 7 },
  });
});

test("a job that does not run has no rates", () => {
  expect(factsOf(job("SUSPENDED"), history, now)).toEqual({
    a: { stateRows: 3, stateBytes: 100, lateRows: null, share: null },
  });
});

test("a rate of long ago is none", () => {
  expect(factsOf(job("RUNNING"), history, now + 90_000).s).toEqual({ rowsPerSecond: null });
});

const graph = (nodes: [string, string][], edges: [string, string][] = []): JobGraph => ({
  version: 1,
  nodes: nodes.map(([name, description]) => ({
    name,
    description,
    kind: "stateless",
    location: "x.py:1",
    keeps_state: false,
    columns: [],
  })),
  edges: edges.map(([source, target]) => ({ source, target })),
});

test("two pipelines are compared by their stages, and by what these read", () => {
  const before = graph(
    [
      ["a", "x"],
      ["b", "x"],
      ["c", "x"],
    ],
    [["a", "c"]],
  );
  const after = graph(
    [
      ["a", "y"],
      ["c", "x"],
      ["d", "x"],
    ],
    [["d", "c"]],
  );
  expect(comparedGraphs(before, after)).toEqual({ gone: ["b"], come: ["d"], changed: ["a", "c"] });
});

test("a stage tells why rows went no further", () => {
  expect(leftOut({ late_rows: 3, keyless_rows: 2, unparsed_rows: 1, rows_in: 9 })).toEqual([
    ["Rows not parsed", 1],
    ["Rows without key", 2],
  ]);
});
