import { expect, test } from "vitest";
import type { Job } from "../api/client";
import { troubles } from "./problems";

const now = Date.parse("2026-11-23T12:00:00Z");

function job(id: string, facts: Partial<Job> = {}): Job {
  const calm = {
    id,
    name: id,
    status: "RUNNING",
    progress: { busy_seconds: 0, tables_away: [] as unknown[] },
    suspension_cause: null,
    completion_time: null,
    submission_time: "2026-11-16T10:00:00Z",
  };
  return { ...calm, failure: null, interruption: null, update_failure: null, user_cancelled: false, ...facts } as Job;
}

test("jobs that do well, and those that a user has ended or suspended, are no trouble", () => {
  const calm = [
    job("a"),
    job("b", { status: "FAILED", user_cancelled: true, completion_time: "2026-11-23T11:00:00Z" }),
    job("c", { status: "SUSPENDED", suspension_cause: "Requested by user" }),
    job("d", { status: "COMPLETED" }),
  ];
  expect(troubles(calm, now)).toEqual([]);
});

test("what has failed comes before what is only suspended or starts again", () => {
  const found = troubles(
    [
      job("again", { status: "NOT_RUNNING", interruption: "The runner's process ended" }),
      job("off", { status: "SUSPENDED", suspension_cause: "Execution failure:\nboom" }),
      job("gone", { status: "FAILED", failure: "no such file", completion_time: "2026-11-23T11:00:00Z" }),
    ],
    now,
  );
  expect(found.map((trouble) => [trouble.job.id, trouble.cause])).toEqual([
    ["gone", "no such file"],
    ["off", "boom"],
    ["again", "The runner's process ended"],
  ]);
});

test("a failure whose name a later job has is seen to; one after that is not", () => {
  const failed = { name: "fleet", status: "FAILED", completion_time: "2026-11-23T11:00:00Z" } as const;
  const first = job("first", { ...failed, submission_time: "2026-11-23T10:00:00Z" });
  const second = job("second", { name: "fleet", submission_time: "2026-11-23T11:30:00Z" });
  expect(troubles([first, second], now)).toEqual([]);
  expect(troubles([first, { ...second, ...failed }], now).map((trouble) => trouble.job.id)).toEqual(["second"]);
  expect(
    troubles(
      [
        { ...first, name: null },
        { ...second, name: null },
      ],
      now,
    ),
  ).toHaveLength(1);
});

test("a failure of last week is no news", () => {
  expect(troubles([job("old", { status: "FAILED", completion_time: "2026-11-16T11:00:00Z" })], now)).toEqual([]);
});

test("a table of a hash join that cannot be read is told while the job runs", () => {
  const why = "The table of stage 'join' (job.py:7) cannot be read: Path does not exist: file:/dim.";
  const away = { stage: "join", since: "2026-11-23T11:00:00Z", read_at: "2026-11-23T10:00:00Z", why };
  const progress = { busy_seconds: 0, tables_away: [away] } as unknown as Job["progress"];
  const told = [{ severity: "table", cause: `${why} The job goes on with what was read of it before.` }];
  expect(troubles([job("joins", { progress })], now)).toMatchObject(told);
  expect(troubles([job("joins", { progress, status: "SUSPENDED" })], now)).toEqual([]);
});

test("an epoch that does not end is told", () => {
  const stuck = job("slow", { progress: { busy_seconds: 70, tables_away: [] as unknown[] } as Job["progress"] });
  expect(troubles([stuck], now)[0]?.cause).toContain("70 s");
});
