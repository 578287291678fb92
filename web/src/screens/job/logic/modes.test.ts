import { expect, test } from "vitest";
import { modeWords } from "./modes";

test("a termination is told by its mode", () => {
  expect(modeWords("SUSPEND#7")).toBe("Suspending…");
});

test("a mode that is not known yet is shown as it is", () => {
  expect(modeWords("DRAIN#1")).toBe("DRAIN…");
});
