import { expect, test } from "vitest";
import type { StageVerdict } from "../api/client";
import { counted, inOrder, isRefused, partitionsSentence, ruleSentence, waySentence } from "./report";

const line = (stage: string, verdict: StageVerdict["verdict"]): StageVerdict => ({
  stage,
  verdict,
  detail: "",
  rule: null,
});
const LINES = [line("alpha", "restored"), line("speed", "refused"), line("beta", "restored"), line("late", "new")];

test("what is refused stands first, and equals keep their order", () => {
  expect(inOrder(LINES).map((each) => each.stage)).toEqual(["speed", "late", "alpha", "beta"]);
  expect(LINES[0]?.stage).toBe("alpha");
});

test("lines are counted by verdict", () => {
  expect(counted(LINES)).toEqual([
    ["refused", 1],
    ["new", 1],
    ["restored", 2],
  ]);
});

test("an event's report does not say whether it is refused: its lines do", () => {
  expect(isRefused({ lines: LINES, way: "resume", partitions: [null, null] })).toBe(true);
  expect(isRefused({ lines: [line("a", "new")], way: "resume", partitions: [null, null] })).toBe(false);
  expect(isRefused({ lines: [], way: "resume", partitions: [null, null], refused: true })).toBe(true);
});

test("the way is told only of what would start", () => {
  expect(waySentence({ lines: LINES, way: "resume", partitions: [2, 2] })).toContain("would not start");
  expect(waySentence({ lines: [], way: "rebuild", partitions: [2, 2] })).toContain("new checkpoint");
});

test("partitions are told when they change", () => {
  const of = (before: number | null, after: number | null) =>
    partitionsSentence({ lines: [], way: "resume", partitions: [before, after] });
  expect(of(2, 4)).toBe("State in 4 partitions instead of 2.");
  expect(of(null, 4)).toBe("State in 4 partitions.");
  expect(of(2, 2)).toBeNull();
  expect(of(2, null)).toBeNull();
});

test("rules that are not known have no sentence", () => {
  expect(ruleSentence("C21")).toContain("renamed");
  expect(ruleSentence("C99")).toBeNull();
  expect(ruleSentence(null)).toBeNull();
});
