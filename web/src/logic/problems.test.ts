import { expect, test } from "vitest";
import type { Job } from "../api/client";
import { troubles } from "./problems";

const now = Date.parse("2026-11-23T12:00:00Z");

function job(id: string, facts: Partial<Job> = {}): Job {
  const calm = {
    id,
    name: id,
    status: "RUNNING",
    progress: { busy_seconds: 0 },
    suspension_cause: null,
    completion_time: null,
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

test("a failure of last week is no news", () => {
  expect(troubles([job("old", { status: "FAILED", completion_time: "2026-11-16T11:00:00Z" })], now)).toEqual([]);
});

test("an epoch that does not end is told", () => {
  const stuck = job("slow", { progress: { busy_seconds: 70 } as Job["progress"] });
  expect(troubles([stuck], now)[0]?.cause).toContain("70 s");
});
