import { expect, test } from "vitest";
import type { Execution } from "../../../api/client";
import { linesOf, named, skewed } from "./tasks";

type StageTasks = Execution["epochs"][number]["stages"][number];

const stage = (more: Partial<StageTasks>): StageTasks => ({
  stage: 7,
  steps: [],
  tasks: 8,
  running: 0,
  shortest_ms: 10,
  median_ms: 20,
  longest_ms: 400,
  skew: 20,
  slowest_partition: 3,
  slowest_rows: 90,
  median_rows: 5,
  ...more,
});

test("a stage whose slowest task takes much longer than the others is told", () => {
  expect(skewed(stage({}))).toBe(true);
  expect(skewed(stage({ skew: 2.9 }))).toBe(false);
});

test("a single task, or one that is over at once, keeps nobody waiting", () => {
  expect(skewed(stage({ tasks: 1 }))).toBe(false);
  expect(skewed(stage({ longest_ms: 99 }))).toBe(false);
});

test("stages stand in the order of their epochs, the newest first", () => {
  const epochs = [
    { epoch: 12, stages: [stage({ stage: 30 }), stage({ stage: 31 })] },
    { epoch: 11, stages: [stage({ stage: 28 })] },
  ];
  const lines = linesOf({ version: 1, epochs, plan: "", operators: [], peekable: [] });
  expect(lines.map((line) => [line.epoch, line.stage.stage])).toEqual([
    [12, 30],
    [12, 31],
    [11, 28],
  ]);
});

test("an operator is named by its number, its stage, and its part in it", () => {
  expect(named({ number: 0, stage: "speed", role: "frames" })).toBe("0 speed (frames)");
  expect(named({ number: 1, stage: "speed", role: "" })).toBe("1 speed");
});
