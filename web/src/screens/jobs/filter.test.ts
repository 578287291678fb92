import { expect, test } from "vitest";
import type { Job, Snapshot } from "../../api/client";
import { lastSnapshots, matching, statesOf } from "./filter";

const job = (id: string, name: string | null, status: Job["status"], display_status: Job["display_status"] = status) =>
  ({ id, name, status, display_status }) as Job;
const jobs = [job("0a-1", "Speeds", "RUNNING"), job("0b-2", null, "FAILED"), job("0c-3", "fleet", "SUSPENDED")];

test("a name is found in any case, and an id too", () => {
  expect(matching(jobs, "speed", [])).toEqual([jobs[0]]);
  expect(matching(jobs, "0B", [])).toEqual([jobs[1]]);
});

test("no states are all states", () => {
  expect(matching(jobs, undefined, [])).toEqual(jobs);
  expect(matching(jobs, "", ["FAILED", "SUSPENDED"])).toEqual([jobs[1], jobs[2]]);
});

test("a job that a user has cancelled is not among those that failed", () => {
  const ended = [job("0d-4", "old", "FAILED", "CANCELLED"), job("0e-5", "bad", "FAILED")];
  expect(matching(ended, "", ["FAILED"])).toEqual([ended[1]]);
  expect(matching(ended, "", statesOf("CANCELLED"))).toEqual([ended[0]]);
});

test("an address may hold anything", () => {
  expect(statesOf("FAILED,RUNNING,nonsense")).toEqual(["RUNNING", "FAILED"]);
  expect(statesOf(undefined)).toEqual([]);
});

test("the newest snapshot of a job counts, whatever the zone of its time", () => {
  const taken = [
    { job_id: "a", created: "2026-11-23T10:00:00Z" },
    { job_id: "a", created: "2026-11-23T11:30:00+02:00" },
  ] as Snapshot[];
  expect(lastSnapshots(taken).get("a")).toBe("2026-11-23T10:00:00Z");
});
