import { expect, test } from "vitest";
import type { StageVerdict } from "../../api/client";
import { graphOfPlan, marksOf } from "./plan";

const stage = (name: string, inputs: string[], layout: object | null = null, kind = "stateless") => ({
  name,
  kind,
  op: kind,
  inputs,
  description: `does ${name}`,
  location: "job.py:3",
  layout,
  columns: [
    ["vin", "string"],
    ["n", "bigint"],
  ],
});
const OLD = graphOfPlan(
  {
    stages: [
      stage("beta", [], null, "source"),
      stage("speed", ["beta"], {}, "window"),
      stage("out", ["speed"], null, "sink"),
    ],
  },
  1,
);
const NEW = graphOfPlan(
  {
    stages: [
      stage("beta", [], null, "source"),
      stage("peek", ["beta"]),
      stage("speeds", ["beta"], {}, "window"),
      stage("out", ["speeds"], null, "sink"),
    ],
  },
  2,
);
const line = (name: string, verdict: StageVerdict["verdict"]): StageVerdict => ({
  stage: name,
  verdict,
  detail: "",
  rule: null,
});
const report = (...lines: StageVerdict[]) => ({
  lines,
  way: "rebuild" as const,
  partitions: [null, null] as [null, null],
});

test("a plan becomes a graph", () => {
  expect(OLD.version).toBe(1);
  expect(OLD.nodes[1]).toEqual({
    name: "speed",
    kind: "window",
    description: "does speed",
    location: "job.py:3",
    keeps_state: true,
    columns: [
      { name: "vin", type: "string" },
      { name: "n", type: "bigint" },
    ],
  });
  expect(OLD.nodes[0]?.keeps_state).toBe(false);
  expect(OLD.edges).toEqual([
    { source: "beta", target: "speed" },
    { source: "speed", target: "out" },
  ]);
});

test("a plan that is none has no stages", () => {
  for (const plan of [null, undefined, 3, {}, { stages: "x" }]) {
    expect(graphOfPlan(plan, 1)).toEqual({ version: 1, nodes: [], edges: [] });
  }
});

test("a stage that looks renamed is refused in the old pipeline, and new in the new one", () => {
  const marks = marksOf(
    report(line("beta", "restored"), line("speeds", "new"), line("speed", "refused")),
    OLD,
    NEW,
    {},
  );
  expect(marks.before).toEqual({ beta: { mark: "restored" }, speed: { mark: "refused" } });
  expect(marks.after).toEqual({ beta: { mark: "restored" }, peek: { mark: "new" }, speeds: { mark: "new" } });
});

test("a renamed stage is restored under both names", () => {
  const marks = marksOf(report(line("beta", "restored"), line("speeds", "restored")), OLD, NEW, { speeds: "speed" });
  expect(marks.before).toEqual({ beta: { mark: "restored" }, speed: { mark: "restored" } });
  expect(marks.after).toEqual({ beta: { mark: "restored" }, peek: { mark: "new" }, speeds: { mark: "restored" } });
});

test("stages without state that only one pipeline has are new, or dropped", () => {
  const marks = marksOf(report(line("beta", "restored")), NEW, OLD, {});
  expect(marks.before).toEqual({ beta: { mark: "restored" }, peek: { mark: "dropped" }, speeds: { mark: "dropped" } });
  expect(marks.after).toEqual({ beta: { mark: "restored" }, speed: { mark: "new" } });
});
