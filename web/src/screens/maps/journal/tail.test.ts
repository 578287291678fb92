import { expect, test } from "vitest";
import type { JournalEvent } from "../../../api/client";
import { begun, caughtUp, isFull, KEPT, startOf, taken } from "./tail";

function events(from: number, to: number, key = "a"): JournalEvent[] {
  return Array.from({ length: to - from + 1 }, (_, place) => ({ sequence: from + place, key }) as JournalEvent);
}

const sequences = (found: JournalEvent[]) => found.map((event) => event.sequence);

test("the newest come first, and no more than are drawn", () => {
  let tail = taken(begun(0), { events: events(1, 3), lost: 0, newest: 3 }, "");
  tail = taken(tail, { events: events(4, 5), lost: 0, newest: 5 }, "");
  expect(sequences(tail.events)).toEqual([5, 4, 3, 2, 1]);
  expect(tail.after).toBe(5);
  tail = taken(tail, { events: events(6, KEPT + 4), lost: 0, newest: KEPT + 4 }, "");
  expect(tail.events).toHaveLength(KEPT);
  expect([tail.events[0]?.sequence, tail.events.at(-1)?.sequence]).toEqual([KEPT + 4, 5]);
  expect(tail.notShown).toBe(0);
});

test("what is left out of a burst is counted", () => {
  const tail = caughtUp(begun(10), 10 + KEPT + 500);
  expect([tail.after, tail.notShown]).toEqual([510, 500]);
  expect(caughtUp(tail, 600)).toBe(tail);
  const large = taken(begun(0), { events: events(1, KEPT + 7), lost: 0, newest: KEPT + 7 }, "");
  expect(large.notShown).toBe(7);
});

test("what the server has lost is counted", () => {
  let tail = taken(begun(0), { events: events(5, 6), lost: 4, newest: 6 }, "");
  tail = taken(tail, { events: [], lost: 2, newest: 8 }, "");
  expect([tail.lost, tail.after]).toEqual([6, 6]);
});

test("other keys are read past", () => {
  const page = { events: [...events(1, 2, "truck-1"), ...events(3, 4, "car-1")], lost: 0, newest: 4 };
  const tail = taken(begun(0), page, "truck");
  expect([sequences(tail.events), tail.after]).toEqual([[2, 1], 4]);
});

test("it begins where it is asked to, within what is kept", () => {
  const journal = { oldest: 1000, newest: 50_000 };
  expect(startOf(journal, null, "")).toBe(49_800);
  expect(startOf(journal, null, "truck")).toBe(999);
  expect(startOf(journal, 1200, "")).toBe(1199);
  expect(startOf(journal, 60_000, "")).toBe(50_000);
  expect(startOf({ oldest: 1, newest: 0 }, null, "")).toBe(0);
  expect(startOf({ oldest: 1, newest: 200_000 }, null, "x")).toBe(100_000);
});

test("who asks for a sequence sees the events from there, not those that come later", () => {
  const full = taken(begun(4), { events: events(5, KEPT + 4), lost: 0, newest: 9999 }, "");
  expect(full.events.at(-1)?.sequence).toBe(5);
  expect([isFull(full, 5), isFull(full, null), isFull(begun(4), 5)]).toEqual([true, false, false]);
});
