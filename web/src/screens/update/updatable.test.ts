import { expect, test } from "vitest";
import type { Job } from "../../api/client";
import { updateRefusal } from "./updatable";

const job = (changes: Partial<Job>) =>
  ({ status: "RUNNING", has_state: true, termination: null, updating: false, ...changes }) as Job;

test("running and suspended jobs can be updated, and failed ones that keep their state", () => {
  expect(updateRefusal(job({}))).toBeNull();
  expect(updateRefusal(job({ status: "SUSPENDED" }))).toBeNull();
  expect(updateRefusal(job({ status: "FAILED" }))).toBeNull();
});

test("what stands against it is said", () => {
  expect(updateRefusal(job({ status: "FAILED", has_state: false }))).toContain("keeps no state");
  expect(updateRefusal(job({ status: "COMPLETED" }))).toContain("has ended");
  expect(updateRefusal(job({ status: "STARTING" }))).toContain("STARTING");
  expect(updateRefusal(job({ termination: "SUSPEND#3" }))).toContain("being ended");
  expect(updateRefusal(job({ updating: true }))).toBe("An update is under way.");
  expect(updateRefusal(job({ updating: true, status: "SUSPENDED" }))).toBeNull();
});
