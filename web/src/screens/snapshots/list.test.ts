import { expect, test } from "vitest";
import type { Snapshot } from "../../api/client";
import { matching, pairOf, toggled } from "./list";

const snapshot = (name: string, job_name: string | null, created: string): Snapshot => ({
  name,
  job_id: "4c20-f1dd",
  job_name,
  created,
  bytes: 1,
  path: "/p",
  epoch: 1,
  details: {},
});
const ALL = [
  snapshot("tuesday", "fleet", "2026-11-24T00:00:00Z"),
  snapshot("monday", "fleet", "2026-11-23T00:00:00Z"),
  snapshot("other", null, "2026-11-22T00:00:00Z"),
];
const names = (snapshots: Snapshot[]) => snapshots.map((each) => each.name);

test("by a part of the name of the snapshot or of its job, or of its id", () => {
  expect(names(matching(ALL, " DAY "))).toEqual(["tuesday", "monday"]);
  expect(names(matching(ALL, "fleet"))).toEqual(["tuesday", "monday"]);
  expect(names(matching(ALL, "4c20"))).toEqual(["tuesday", "monday", "other"]);
  expect(matching(ALL, undefined)).toBe(ALL);
});

test("two are chosen at most", () => {
  expect(toggled(["a"], "b")).toEqual(["a", "b"]);
  expect(toggled(["a", "b"], "c")).toEqual(["b", "c"]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
});

test("the older one is compared with the newer one", () => {
  expect(pairOf(ALL, ["tuesday", "monday"])?.map((each) => each.name)).toEqual(["monday", "tuesday"]);
  expect(pairOf(ALL, ["tuesday"])).toBeNull();
  expect(pairOf(ALL, ["tuesday", "gone"])).toBeNull();
});
