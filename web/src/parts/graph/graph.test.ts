import { expect, test } from "vitest";
import type { JobGraph } from "../../api/client";
import { stageColor, whatItDoes } from "./looks";
import { labelPlace, pathOf } from "./route";
import { apart, edgeRate, readsOf, sentenceOf } from "./words";

const stage = (
  name: string,
  kind: JobGraph["nodes"][number]["kind"],
  description = kind as string,
  keeps_state = false,
) => ({
  name,
  kind,
  description,
  location: "x.py:1",
  keeps_state,
  columns: [],
});
const graph: JobGraph = {
  version: 1,
  nodes: [
    stage("in", "source", "csv_tail"),
    stage("count", "window", "window", true),
    stage("out", "sink", "sink map"),
  ],
  edges: [
    { source: "in", target: "count" },
    { source: "count", target: "out" },
  ],
};
const plain = (text: string) => text.replace(/[\u2068\u2069]/g, "");

test("what a stage does is said once", () => {
  expect(graph.nodes.map(whatItDoes)).toEqual(["source · csv_tail", "window", "sink map"]);
  expect(whatItDoes(stage("s", "stateless", "select"))).toBe("select");
});

test("an edge carries what its source gives, or what its sink alone takes", () => {
  const [first, second] = graph.edges as [JobGraph["edges"][number], JobGraph["edges"][number]];
  expect(edgeRate(graph, first, { in: { rowsPerSecond: 5 } })).toBe(5);
  expect(edgeRate(graph, second, { out: { rowsPerSecond: 3 } })).toBe(3);
  expect(edgeRate(graph, first, { count: { rowsPerSecond: 3 } })).toBeNull();
  const two = { ...graph, edges: [...graph.edges, { source: "in", target: "out" }] };
  expect(edgeRate(two, second, { out: { rowsPerSecond: 3 } })).toBeNull();
});

test("a stage in words", () => {
  const reads = readsOf(graph).get("count") ?? [];
  const facts = { stateRows: 1200, stateBytes: 2048, lateRows: 3, share: 0.5, mark: "restored" as const };
  expect(plain(sentenceOf(graph.nodes[1] as JobGraph["nodes"][number], reads, facts))).toBe(
    "count: window, reads in, keeps state, restored, 1,200 rows of state in 2.00 KiB, 3 late rows dropped, 50 % of the epoch's time at its state",
  );
  expect(plain(sentenceOf(graph.nodes[0] as JobGraph["nodes"][number], [], undefined))).toBe(
    "in: source · csv_tail, reads no other stage",
  );
});

test("a text of somebody else's keeps its direction and its length to itself", () => {
  expect(apart("\u202eabc")).toBe("\u2068\u202eabc\u2069");
  expect(apart("x".repeat(500)).length).toBe(203);
});

test("a mark goes before a share, and no figure has no colour", () => {
  expect(stageColor(undefined)).toBeNull();
  expect(stageColor({ share: Number.NaN })).toBeNull();
  expect(stageColor({ share: 0.1, mark: "refused" })).toBe("#b02525");
  expect(stageColor({ share: 0.1 })).toBe("#1f6f3a");
  expect(stageColor({ share: 0.9 })).toBe("#b02525");
});

test("a route has round corners, and its words in the middle of its longest part", () => {
  const route = [
    { x: 0, y: 0 },
    { x: 20, y: 0 },
    { x: 20, y: 100 },
  ];
  expect(pathOf(route)).toBe("M 0 0 L 12 0 Q 20 0 20 8 L 20 100");
  expect(pathOf([{ x: 0, y: 0 }])).toBe("");
  expect(labelPlace(route)).toEqual({ x: 20, y: 50 });
});
