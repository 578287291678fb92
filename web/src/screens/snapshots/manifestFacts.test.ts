import { expect, test } from "vitest";
import { bytesOf, offsetsOf, spread, stagesOf, startedFrom } from "./manifestFacts";

const file = (path: string, bytes: number) => ({ path, bytes, sha256: "0" });
const layout = (kind: string) => ({
  kind,
  keys: [
    ["vin", "string"],
    ["day", "date"],
  ],
});
const MANIFEST = {
  plan: {
    stages: [
      { name: "beta", kind: "source", description: "http_poll", layout: null },
      { name: "speed", kind: "window", description: "by vin", layout: layout("window") },
      { name: "counts", kind: "rolling", description: "for ever", layout: layout("rolling") },
    ],
    operators: [
      ["counts", "state", 0],
      ["speed", "frames", 0],
      ["speed", "windows", 0],
    ] as [string, string, number][],
  },
  stages: { speed: { rows: 12 } },
  files: [
    file("state/0/a", 1),
    file("state/1/a", 10),
    file("state/2/a", 100),
    file("state/10/a", 7),
    file("commits/1", 1000),
  ],
  imported: { counts: [file("imported/counts/rows.parquet", 50)] },
  offsets: { beta: { speed: '{"sequence": 3}', counts: '{"sequence": 2}' }, alpha: { "": "{}" } },
};

test("stages with state, with what their operators have saved", () => {
  expect(stagesOf(MANIFEST)).toEqual([
    {
      stage: "speed",
      kind: "window",
      keys: "vin string, day date",
      what: "by vin",
      rows: 12,
      bytes: 110,
      imported: false,
    },
    {
      stage: "counts",
      kind: "rolling",
      keys: "vin string, day date",
      what: "for ever",
      rows: null,
      bytes: 50,
      imported: true,
    },
  ]);
});

test("offsets by source and reader", () => {
  expect(offsetsOf(MANIFEST)).toEqual([
    { source: "alpha", reader: "", offset: "{}" },
    { source: "beta", reader: "counts", offset: '{"sequence": 2}' },
    { source: "beta", reader: "speed", offset: '{"sequence": 3}' },
  ]);
});

test("the size is that of all files", () => {
  expect(bytesOf(MANIFEST)).toBe(1168);
});

test("JSON is spread, anything else stays", () => {
  expect(spread('{"a":1,"b":{"x.csv":[1,"p"]},"c":{}}')).toBe(
    '{\n  "a": 1,\n  "b": {\n    "x.csv": [1,"p"]\n  },\n  "c": {}\n}',
  );
  expect(spread("12:7")).toBe("12:7");
});

test("jobs that go on from a snapshot", () => {
  const job = (status: string, initial_snapshot: string | null) => ({ status, config: { initial_snapshot } });
  const running = job("RUNNING", "monday");
  const found = startedFrom([running, job("FAILED", "monday"), job("RUNNING", null)]);
  expect([...found]).toEqual([["monday", [running]]]);
});
