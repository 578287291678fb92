import { expect, test } from "vitest";
import type { ChangeOver, Phase } from "./changeOver";
import { announcement, stepsOf, watchedUntil } from "./steps";

const UP_AT = "2026-11-23T01:00:00Z";
const UP_MS = Date.UTC(2026, 10, 23, 1);
const NOTHING: ChangeOver = {
  phase: "none",
  stopped: null,
  snapshot: null,
  up: null,
  gapSeconds: null,
  version: null,
  previous: null,
  report: null,
  error: null,
  failed: null,
};
const at = (phase: Phase, more: Partial<ChangeOver> = {}): ChangeOver => ({ ...NOTHING, phase, ...more });
const SNAPSHOT = { kind: "snapshot" as const, at: UP_AT, snapshot: "s", epoch: 3, bytes: 1, error: null, sequence: 4 };
const RUNNING = { suspended: false, watchSeconds: 0 };
const words = (found: ChangeOver, kind = RUNNING, now = UP_MS) =>
  stepsOf(found, kind, now)
    .map((step) => `${step.id} ${step.state}`)
    .join(", ");

test("one step after another", () => {
  expect(words(at("preparing"))).toBe("ready now, last to come, gap to come, first to come");
  expect(words(at("stopping"))).toBe("ready done, last now, gap to come, first to come");
  expect(words(at("gap"))).toBe("ready done, last done, gap now, first to come");
  expect(words(at("up", { up: UP_AT, gapSeconds: 3 }))).toBe("ready done, last done, gap done, first done");
});

test("a new version is watched for as long as was asked", () => {
  const watched = { suspended: false, watchSeconds: 60 };
  const up = at("up", { up: UP_AT, gapSeconds: 3 });
  expect(watchedUntil(up, 60)).toBe(UP_MS + 60_000);
  expect(watchedUntil(up, 0)).toBeNull();
  expect(words(up, watched, UP_MS + 59_000)).toContain("first done, watch now");
  expect(words(up, watched, UP_MS + 60_000)).toContain("first done, watch done");
});

test("what fails is the step in which it failed", () => {
  expect(words(at("failed"))).toContain("ready failed, last to come");
  expect(words(at("failed", { stopped: UP_AT, snapshot: SNAPSHOT }))).toContain("gap done, first failed");
  expect(words(at("failed", { stopped: UP_AT }))).toContain("ready done, last failed");
  expect(
    words(at("failed", { stopped: UP_AT, snapshot: SNAPSHOT, up: UP_AT }), { suspended: false, watchSeconds: 9 }),
  ).toContain("first done, watch failed");
});

test("a suspended job has no gap", () => {
  const kind = { suspended: true, watchSeconds: 60 };
  expect(words(at("gap"), kind)).toBe("ready done, last now, first to come");
  expect(words(at("up", { up: UP_AT }), kind)).toBe("ready done, last done, first done");
});

test("what is said aloud", () => {
  expect(announcement(at("up", { gapSeconds: 30.2 }), RUNNING)).toBe(
    "The new version runs, after a gap of 30.2 seconds.",
  );
  expect(announcement(at("failed", { error: "It died." }), RUNNING)).toContain("It died.");
});
