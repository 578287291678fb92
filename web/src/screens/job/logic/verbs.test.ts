import { expect, test } from "vitest";
import { modeWords, type VerbName, verbsByState } from "./verbs";

type Facts = Parameters<typeof verbsByState>[0];
const allowed = (facts: Partial<Facts>): VerbName[] =>
  verbsByState({ status: "RUNNING", termination: null, updating: false, has_state: true, ...facts })
    .filter((verb) => verb.refused === null && !verb.nothing_to_do)
    .map((verb) => verb.verb);

test("what a running job can be asked for", () => {
  expect(allowed({})).toEqual(["suspend", "restart", "cancel", "export", "cancel_and_export", "update"]);
});

test("what a suspended job can be asked for", () => {
  expect(allowed({ status: "SUSPENDED" })).toEqual([
    "resume",
    "cancel",
    "export",
    "cancel_and_export",
    "update",
    "configure",
  ]);
});

test("a job that starts can be stopped", () => {
  expect(allowed({ status: "STARTING" })).toEqual(["suspend", "cancel"]);
});

test("an ended job can be brought back while its state is kept", () => {
  expect(allowed({ status: "FAILED" })).toEqual(["resume", "export", "update", "discard"]);
  expect(allowed({ status: "FAILED", has_state: false })).toEqual([]);
  expect(allowed({ status: "COMPLETED" })).toEqual([]);
});

test("nothing crosses a termination, and the reason names it", () => {
  const found = verbsByState({ status: "RUNNING", termination: "SUSPEND#7", updating: false, has_state: true });
  expect(found.find((verb) => verb.verb === "restart")?.refused).toBe("Suspending… Ask again when that is done.");
});

test("an update under way can be rolled back", () => {
  expect(allowed({ updating: true })).toContain("rollback");
});

test("a mode that is not known yet is shown as it is", () => {
  expect(modeWords("DRAIN#1")).toBe("DRAIN…");
});
