import { expect, test } from "vitest";
import type { Job, MapFacts, Snapshot } from "../api/client";
import { refusalsOf } from "../logic/verbs";
import { entriesFor, jobsMeant, type Lists } from "./entries";

const job = (name: string, facts: Partial<Job> = {}): Job =>
  ({
    id: `id-of-${name}`,
    name,
    status: "RUNNING",
    display_status: facts.status ?? "RUNNING",
    termination: null,
    updating: false,
    has_state: true,
    submission_time: "2026-01-01T00:00:00Z",
    ...facts,
  }) as Job;
const LISTS: Lists = {
  jobs: [job("fleet-copy"), job("fleet"), job("meters", { status: "SUSPENDED" })],
  snapshots: [{ name: "monday", job_id: "1", job_name: "fleet" } as Snapshot],
  maps: [{ name: "vehicles", size: 1234 } as MapFacts],
  viewer: null,
  refusals: new Map([
    [
      "id-of-meters",
      refusalsOf([
        { verb: "suspend", refused: null, nothing_to_do: true },
        {
          verb: "restart",
          refused: "Cannot RESTART, job status is SUSPENDED, should be RUNNING",
          nothing_to_do: false,
        },
      ]),
    ],
  ]),
};
const offered = (query: string, lists = LISTS) =>
  Object.fromEntries(entriesFor(query, lists).map(({ group, entries }) => [group, entries.map((each) => each.label)]));

test("without a word there are places and things, and nothing is to be done", () => {
  const found = offered("");
  expect(Object.keys(found)).toEqual(["Go to", "Jobs", "Snapshots", "Maps"]);
  expect(found["Go to"]).toContain("SQL");
});

test("a name finds the thing first, then what can be done with it", () => {
  const [first, second] = entriesFor("meters", LISTS);
  expect(first?.entries.map((each) => each.target)).toEqual([{ to: "job", job: "id-of-meters" }]);
  expect(second?.entries.map((each) => each.label)).toEqual([
    "Suspend meters",
    "Resume meters",
    "Restart meters",
    "Export snapshot of meters",
    "Update meters",
    "Roll back meters",
    "Discard state of meters",
    "Cancel job meters",
  ]);
});

test("a verb and a name, in any order, are that verb", () => {
  expect(offered("cancel fleet").Do).toEqual(["Cancel job fleet", "Cancel job fleet-copy"]);
  expect(offered("meters export")).toEqual({ Do: ["Export snapshot of meters"] });
  expect(offered("suspend").Do).toBeUndefined();
});

test("what is not possible now says why", () => {
  const refused = (query: string, lists = LISTS) =>
    (entriesFor(query, lists)[0]?.entries ?? []).map((each) => [each.label, each.refused]);
  expect(refused("restart meters")).toEqual([
    ["Restart meters", "Cannot RESTART, job status is SUSPENDED, should be RUNNING"],
  ]);
  expect(refused("suspend meters")).toEqual([["Suspend meters", "The job is suspended already."]]);
  expect(refused("resume meters")).toEqual([["Resume meters", null]]);
  expect(refused("resume meters", { ...LISTS, viewer: "Viewers may not." })).toEqual([
    ["Resume meters", "Viewers may not."],
  ]);
});

test("what the server has not answered yet is offered", () => {
  const restart = entriesFor("restart meters", { ...LISTS, refusals: new Map() })[0]?.entries[0];
  expect([restart?.label, restart?.refused]).toEqual(["Restart meters", null]);
});

test("the server is asked about the jobs that a word of the query names, and only about a few", () => {
  expect(jobsMeant("cancel fleet", LISTS.jobs).map((each) => each.name)).toEqual(["fleet", "fleet-copy"]);
  expect(jobsMeant("cancel", LISTS.jobs)).toEqual([]);
  expect(
    jobsMeant(
      "job",
      Array.from({ length: 1000 }, (_, n) => job(`job-${n}`)),
    ),
  ).toHaveLength(9);
});

test("a name that has passed on means the job that lives", () => {
  const ended = job("fleet", { id: "old", status: "FAILED", submission_time: "2026-02-01T00:00:00Z" });
  const found = entriesFor("cancel fleet", { ...LISTS, jobs: [ended, job("fleet")] }).find(
    ({ group }) => group === "Do",
  );
  expect(found?.entries.map((each) => each.target)).toEqual([{ to: "job", job: "id-of-fleet", verb: "cancel" }]);
});

test("of very many things a few are offered", () => {
  const jobs = Array.from({ length: 1000 }, (_, n) => job(`job-${n}`));
  const found = offered("job", { ...LISTS, jobs });
  expect([found.Jobs?.length, found.Do?.length]).toEqual([7, 9]);
});
