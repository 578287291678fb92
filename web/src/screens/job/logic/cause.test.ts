import { expect, test } from "vitest";
import type { Job } from "../../../api/client";
import { exact } from "../../../logic/format";
import { causesOf } from "./cause";

const job = (facts: Partial<Job>): Job =>
  ({
    status: "RUNNING",
    user_cancelled: false,
    failure: null,
    failure_details: null,
    suspension_cause: null,
    interruption: null,
    update_failure: null,
    has_state: false,
    progress: { busy_seconds: 0, tables_away: [] as unknown[], waits_for: {} },
    ...facts,
  }) as Job;

test("a job that runs well has no cause", () => {
  expect(causesOf(job({}))).toEqual([]);
});

test("a failure is told in its words, its trace is apart", () => {
  expect(causesOf(job({ status: "FAILED", failure: "No such folder", failure_details: "Traceback" }))).toEqual([
    { grave: true, title: "Failed", text: "No such folder", details: "Traceback" },
  ]);
});

test("who was cancelled by a user did not fail, and can be brought back while the state is kept", () => {
  const found = causesOf(job({ status: "FAILED", user_cancelled: true, failure: "Cancelled", has_state: true }));
  expect(found).toEqual([
    {
      grave: false,
      title: "Cancelled by a user",
      text: "Resume brings it back where its last epoch ended.",
      details: null,
    },
  ]);
});

test("when kept state is removed stands behind a whole sentence about that state, and behind no other cause", () => {
  const until = "2026-11-23T11:00:00Z";
  const failed = { status: "FAILED", failure: "Boom", has_state: true, state_kept_until: until } as const;
  const update_failure = "The update was rolled back on request";
  const found = causesOf(job({ ...failed, update_failure }));
  expect(found.filter((cause) => cause.removedAt).map((cause) => [cause.title, cause.text, cause.removedAt])).toEqual([
    ["Its state is kept", "Resume brings it back where its last epoch ended.", until],
  ]);
  const cancelled = causesOf(job({ ...failed, user_cancelled: true }));
  expect(cancelled.map((cause) => [cause.text.endsWith("."), cause.removedAt])).toEqual([[true, until]]);
  expect(causesOf(job({ ...failed, has_state: false })).some((cause) => cause.removedAt)).toBe(false);
});

test("of a long cause the first three lines are shown, and all of it in the details", () => {
  const found = causesOf(
    job({ status: "SUSPENDED", suspension_cause: "Execution failure:\na\nb\nc\nd", failure_details: "Traceback" }),
  );
  expect(found).toEqual([
    { grave: true, title: "Suspended after an error", text: "a\nb\nc", details: "a\nb\nc\nd\n\nTraceback" },
  ]);
});

test("each table that cannot be read is told with what stands in for it, while the job runs", () => {
  const away = { since: "2026-11-23T11:00:00Z", read_at: "2026-11-23T10:00:00Z", why: "It is gone." };
  const tables = ["cars", "drivers"].map((stage) => ({ ...away, stage }));
  const progress = { busy_seconds: 0, tables_away: tables, waits_for: {} } as unknown as Job["progress"];
  const found = causesOf(job({ progress }));
  expect(found.map((cause) => [cause.grave, cause.title])).toEqual([
    [true, "The table of 'cars' cannot be read"],
    [true, "The table of 'drivers' cannot be read"],
  ]);
  const told = `So it is since ${exact(away.since)}: rows are joined with what was read at ${exact(away.read_at)}.`;
  expect(found[0]?.text).toBe(`It is gone.\n${told}`);
  expect(causesOf(job({ progress, status: "SUSPENDED" }))).toEqual([]);
});

test("each source that waits for a folder is told while the job runs", () => {
  const waits_for = { in: "/srv/in", more: "/srv/more" };
  const progress = { busy_seconds: 0, tables_away: [], waits_for } as unknown as Job["progress"];
  expect(causesOf(job({ progress })).map((cause) => [cause.grave, cause.title, cause.text])).toEqual([
    [
      false,
      "Source 'in' waits for its folder",
      "Folder /srv/in does not exist yet. Its rows are read once it is there.",
    ],
    [
      false,
      "Source 'more' waits for its folder",
      "Folder /srv/more does not exist yet. Its rows are read once it is there.",
    ],
  ]);
  expect(causesOf(job({ progress, status: "SUSPENDED" }))).toEqual([]);
});

test("a line of 10,000 signs is cut", () => {
  const found = causesOf(job({ interruption: "x".repeat(10_000) }))[0];
  expect(found?.text.length).toBe(601);
  expect(found?.details?.length).toBe(10_000);
});

test("who has rolled an update back needs no alarm", () => {
  const grave = (update_failure: string) => causesOf(job({ update_failure }))[0]?.grave;
  expect(grave("Version 2 of job 'a' was rolled back on request: version 1 goes on.")).toBe(false);
  expect(grave("Version 2 failed")).toBe(true);
});
