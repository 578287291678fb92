import { expect, test } from "vitest";
import type { JobEvent } from "../../../api/client";
import { hasWords, wordsOf } from "../../../logic/search";
import { eventText } from "./eventText";

const at = "2026-01-01T00:00:00Z";
const ended = { kind: "state", at, previous: "RUNNING", new: "FAILED", display_previous: null, trace: null } as const;
const report = {
  lines: [{ stage: "speed", verdict: "converted", detail: "top counts from now on", rule: null }],
  needs_allow_drop: [],
  partitions: [null, null] as [null, null],
  renamed: {},
  warnings: [],
  way: "resume",
} as const;
const events: Record<string, JobEvent> = {
  "a failure": { ...ended, sequence: 1, display_new: null, user_requested: false, reason: "The disk is full." },
  "a cancellation": { ...ended, sequence: 2, display_new: "CANCELLED", user_requested: true, reason: "Cancelled." },
  "an update": {
    ...{ kind: "update", at, sequence: 3, previous: 2, version: 3, error: null, gap_seconds: 1.5 },
    report: { ...report, lines: [...report.lines], needs_allow_drop: [] },
  },
  "a rollback": {
    ...{ kind: "update", at, sequence: 4, previous: 3, version: 4, gap_seconds: null, report: null },
    error: "column speed is not there",
  },
  "a snapshot": { kind: "snapshot", at, sequence: 5, snapshot: "before-monday", epoch: 77, bytes: 1000, error: null },
};

test.each([
  ["disk", ["a failure"]],
  ["running failed", ["a failure", "a cancellation"]],
  ["CANCELLED by a user", ["a cancellation"]],
  ["version 3", ["an update", "a rollback"]],
  ["update failed", ["a rollback"]],
  ["speed converted", ["an update"]],
  ["monday epoch 77", ["a snapshot"]],
])("%j finds %j", (query, names) => {
  const words = wordsOf(query);
  const shown = Object.entries(events).filter(([, event]) => hasWords(eventText(event), words));
  expect(shown.map(([name]) => name)).toEqual(names);
});
