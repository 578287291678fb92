import { expect, test } from "vitest";
import { changes, inWords } from "./changes";

const called = (job: string) => (job === "0401-9f77-b9c0-0001" ? "speeds" : job);

test.each([
  ["POST", "/api/v1/jobs/0401-9f77-b9c0-0001/suspend", "Suspend speeds"],
  ["POST", "/api/v1/jobs/nobody/cancel", "Cancel nobody"],
  ["POST", "/api/v1/jobs", "Submit a job"],
  ["POST", "/api/v1/jobs/0401-9f77-b9c0-0001/versions/2/go-back", "Take speeds back to version 2"],
  ["POST", "/api/v1/jobs/0401-9f77-b9c0-0001/snapshots", "Export a snapshot of speeds"],
  ["DELETE", "/api/v1/snapshots/on monday", "Delete the snapshot on monday"],
  ["POST", "/api/v1/snapshots/monday/stages/count/query", "Look into the snapshot monday"],
  ["DELETE", "/api/v1/maps/cars/entry", "Delete from the map cars"],
  ["POST", "/api/v1/cluster/members", "Add a member"],
  ["DELETE", "/api/v1/cluster/members/member-1", "Remove the member member-1"],
  ["POST", "/api/v1/cluster/shutdown", "Shut down the cluster"],
  ["SQL", "DROP JOB speeds", "DROP JOB speeds"],
  ["POST", "/api/v1/jobs/x/constructor", "POST /api/v1/jobs/x/constructor"],
  ["POST", "/somewhere/else", "POST /somewhere/else"],
])("%s %s in words", (method, path, words) => {
  expect(inWords({ method, path }, called)).toBe(words);
});

test("what jobs did by themselves stands among what was asked for, the newest first", () => {
  const entry = (sequence: number, at: string, status: number) => ({
    sequence,
    at,
    status,
    role: "operator",
    user: null,
    door: "page" as const,
    method: "POST",
    path: "/api/v1/jobs/a/restart",
  });
  const job = (id: string, more: object) => ({
    id,
    name: `job ${id}`,
    status: "RUNNING" as const,
    token: 1,
    start_time: "2026-11-24T10:00:00Z",
    completion_time: null,
    failure: null,
    user_cancelled: false,
    interruption: null,
    ...more,
  });
  const failed = { status: "FAILED" as const, completion_time: "2026-11-24T10:00:03Z", failure: "the disk is full" };
  const found = changes(
    [entry(2, "2026-11-24T10:00:02Z", 409), entry(1, "2026-11-24T10:00:01Z", 200)],
    [
      job("a", { token: 2, start_time: "2026-11-24T10:00:04Z" }),
      job("b", failed),
      job("c", { ...failed, user_cancelled: true }),
      job("d", {}),
    ],
    10,
  );
  expect(found.map((change) => [change.who, change.what, change.bad])).toEqual([
    [null, "job a has started again", null],
    [null, "job b has failed", "failed"],
    ["operator", "Restart job a", "refused (409)"],
    ["operator", "Restart job a", null],
  ]);
  expect(changes([entry(2, "2026-11-24T10:00:02Z", 200), entry(1, "2026-11-24T10:00:01Z", 200)], [], 1)).toHaveLength(
    1,
  );
});
