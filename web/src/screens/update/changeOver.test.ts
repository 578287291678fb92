import { expect, test } from "vitest";
import type { JobEvent, JobState } from "../../api/client";
import { beginOf, changeOver, failedSince, lastOutcome } from "./changeOver";

const AT = "2026-11-23T01:00:00Z";
const state = (sequence: number, previous: JobState, now: JobState, reason: string, user = false): JobEvent => ({
  kind: "state",
  at: `${AT.slice(0, 17)}${String(sequence).padStart(2, "0")}Z`,
  previous,
  new: now,
  reason,
  user_requested: user,
  sequence,
  trace: null,
  display_previous: previous,
  display_new: now,
});
const snapshot = (sequence: number, name: string, error: string | null = null): JobEvent => ({
  kind: "snapshot",
  at: AT,
  snapshot: error ? null : name,
  epoch: error ? null : 16,
  bytes: error ? null : 65171,
  error,
  sequence,
});
const outcome = (sequence: number, error: string | null, gap: number | null): JobEvent => ({
  kind: "update",
  at: `${AT.slice(0, 17)}${String(sequence).padStart(2, "0")}Z`,
  version: 2,
  previous: 1,
  error,
  gap_seconds: gap,
  report: null,
  sequence,
});
const IDLE = { updating: false, termination: null };
const UPDATING = { updating: true, termination: null };
const BEFORE = [
  state(1, "NOT_RUNNING", "STARTING", "A run is started"),
  state(2, "STARTING", "RUNNING", "The run is up"),
];
const STOPPED = [
  ...BEFORE,
  snapshot(3, "friday"),
  snapshot(4, "j-before-2"),
  state(5, "RUNNING", "NOT_RUNNING", "Update", true),
];
const UP = [...STOPPED, state(6, "NOT_RUNNING", "STARTING", "A run is started"), outcome(7, null, 30.204)];

test("before the old version stops, the job says how far it is", () => {
  expect(changeOver(BEFORE, 2, IDLE).phase).toBe("none");
  expect(changeOver(BEFORE, 2, UPDATING).phase).toBe("preparing");
  expect(changeOver(BEFORE, 2, { updating: true, termination: "UPDATE#7" }).phase).toBe("stopping");
});

test("the gap begins when the old version has stopped, with the snapshot just before", () => {
  const found = changeOver(STOPPED, 3, UPDATING);
  expect(found.phase).toBe("gap");
  expect(found.stopped).toBe("2026-11-23T01:00:05Z");
  expect(found.snapshot?.snapshot).toBe("j-before-2");
});

test("the new version is up", () => {
  const found = changeOver(UP, 3, IDLE);
  expect(found).toMatchObject({ phase: "up", gapSeconds: 30.204, version: 2, previous: 1, up: "2026-11-23T01:00:07Z" });
  expect(found.snapshot?.snapshot).toBe("j-before-2");
});

test("it may fail while it is watched: the old one goes on", () => {
  const found = changeOver([...UP, outcome(8, "It died.", null)], 3, IDLE);
  expect(found).toMatchObject({
    phase: "failed",
    error: "It died.",
    failed: "2026-11-23T01:00:08Z",
    gapSeconds: 30.204,
  });
  expect(found.snapshot?.snapshot).toBe("j-before-2");
});

test("what a later update does is none of its events", () => {
  const again = [
    ...UP,
    snapshot(8, "j-before-3"),
    state(9, "RUNNING", "NOT_RUNNING", "Update", true),
    outcome(10, "It died.", null),
  ];
  expect(changeOver(again, 3, IDLE)).toMatchObject({ phase: "up", gapSeconds: 30.204 });
  expect(changeOver(again, 7, IDLE)).toMatchObject({ phase: "failed", error: "It died." });
});

test("no snapshot, no new version", () => {
  const events = [
    ...BEFORE,
    snapshot(3, "", "disk full"),
    outcome(4, "disk full", null),
    state(5, "RUNNING", "NOT_RUNNING", "Update: disk full", true),
  ];
  const found = changeOver(events, 2, IDLE);
  expect(found).toMatchObject({ phase: "failed", error: "disk full", up: null });
});

test("a suspended job has the new version and stays suspended", () => {
  const events = [
    state(1, "SUSPENDED", "SUSPENDED_EXPORTING_SNAPSHOT", "Update", true),
    snapshot(2, "j-before-2"),
    outcome(3, null, null),
    state(4, "SUSPENDED_EXPORTING_SNAPSHOT", "SUSPENDED", "Update", true),
  ];
  expect(changeOver(events.slice(0, 1), 0, UPDATING).phase).toBe("gap");
  const found = changeOver(events, 0, UPDATING);
  expect(found).toMatchObject({ phase: "up", gapSeconds: null });
  expect(found.snapshot?.snapshot).toBe("j-before-2");
});

test("an update is looked for behind the end of the one before", () => {
  expect(beginOf(BEFORE)).toBe(0);
  expect(beginOf(UP)).toBe(7);
  expect(lastOutcome(UP)?.gap_seconds).toBe(30.204);
  expect(lastOutcome(BEFORE)).toBeNull();
  expect(changeOver(UP, beginOf(UP), UPDATING).phase).toBe("preparing");
});

const up = { phase: "up", version: 2 } as const;
const standing = {
  status: "RUNNING",
  version: 2,
  user_cancelled: false,
  failure: null,
  suspension_cause: null,
} as const;

test("a new version that fails after it was up is not called running", () => {
  expect(failedSince(up, standing)).toBeNull();
  expect(failedSince(up, { ...standing, status: "FAILED", failure: "boom" })).toBe("boom");
  const cause = "Execution failure: boom";
  expect(failedSince(up, { ...standing, status: "SUSPENDED", suspension_cause: cause })).toBe(cause);
});

test("a job that was ended or suspended by a user has not failed, nor has a later version's failure to do with this one", () => {
  expect(failedSince(up, { ...standing, status: "FAILED", user_cancelled: true, failure: "Cancelled" })).toBeNull();
  expect(failedSince(up, { ...standing, status: "SUSPENDED", suspension_cause: "Requested by user" })).toBeNull();
  expect(failedSince(up, { ...standing, version: 3, status: "FAILED", failure: "boom" })).toBeNull();
});
