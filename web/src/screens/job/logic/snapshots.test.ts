import { expect, test } from "vitest";
import type { Snapshot } from "../../../api/client";
import { snapshotsOf, suggestedName } from "./snapshots";

test("a suggested name says what and when, in signs that every name may hold", () => {
  const now = new Date(2026, 0, 31, 9, 45, 2);
  expect(suggestedName("fleet", now)).toBe("fleet-20260131-094502");
  expect(suggestedName("flotte été/1", now)).toBe("flotte-t-1-20260131-094502");
  expect(suggestedName("", now)).toBe("job-20260131-094502");
});

test("the snapshots of a job are those of its id, the newest first", () => {
  const taken = (name: string, job_id: string, created: string) => ({ name, job_id, created }) as Snapshot;
  const all = [taken("a", "1", "2026-01-01"), taken("b", "2", "2026-01-03"), taken("c", "1", "2026-01-02")];
  expect(snapshotsOf({ id: "1" }, all).map((snapshot) => snapshot.name)).toEqual(["c", "a"]);
});
