import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Shown, Teller } from "./shown";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function listened() {
  const heard: [string, number][] = [];
  const teller: Teller = new Teller({ phase: "loading", objects: 0 } as Shown, () =>
    teller.now.phase === "ready" ? { objects: 3 } : {},
  );
  teller.subscribe(() => heard.push([teller.snapshot().phase, teller.snapshot().objects]));
  return { teller, heard };
}

test("changes that come close together are told once", () => {
  const { teller, heard } = listened();
  teller.tell({ objects: 1 });
  teller.tell({ objects: 2 });
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(heard).toEqual([["loading", 2]]);
});

test("what is drawn now is told now, with its counts, and not once more", () => {
  const { teller, heard } = listened();
  teller.tell({ objects: 1 });
  teller.tellAtOnce({ phase: "ready" });
  expect(heard).toEqual([["ready", 3]]);
  vi.advanceTimersByTime(1000);
  expect(heard).toHaveLength(1);
  teller.tell({});
  vi.advanceTimersByTime(1000);
  expect(heard).toHaveLength(2);
});
