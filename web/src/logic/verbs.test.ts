import { expect, test } from "vitest";
import { isDialog, PALETTE_VERBS, PLAIN_VERBS, refusalsOf } from "./verbs";

test("a verb is refused in the server's words, or because it would change nothing", () => {
  const refusals = refusalsOf([
    { verb: "suspend", refused: null, nothing_to_do: true },
    { verb: "restart", refused: "Cannot RESTART", nothing_to_do: false },
    { verb: "cancel", refused: null, nothing_to_do: false },
    { verb: "unheard of", refused: "No.", nothing_to_do: false },
  ]);
  expect([refusals.suspend, refusals.restart, refusals.cancel, refusals.update]).toEqual([
    "The job is suspended already.",
    "Cannot RESTART",
    null,
    null,
  ]);
  expect(Object.keys(refusals)).not.toContain("unheard of");
});

test("the records say what each verb needs", () => {
  expect([...PLAIN_VERBS].sort()).toEqual(["cancel", "discard", "restart", "resume", "rollback", "suspend"]);
  expect(PALETTE_VERBS).not.toContain("configure");
  expect([isDialog("restart"), isDialog("suspend"), isDialog("constructor"), isDialog(undefined)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
