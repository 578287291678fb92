import { expect, test } from "vitest";
import type { JournalEvent } from "../../../api/client";
import { Replay } from "./replay";

const T0 = Date.parse("2026-11-23T12:00:00Z");

function event(sequence: number, second: number, key: string, before: unknown, after: unknown): JournalEvent {
  const kind = before === undefined ? "ADDED" : after === undefined ? "REMOVED" : "UPDATED";
  return {
    sequence,
    key,
    kind,
    old_value: before ?? null,
    new_value: after ?? null,
    at: new Date(T0 + second * 1000).toISOString(),
  } as JournalEvent;
}

/** a is added, moves and goes; b is added. Second 3 has two events. */
const EVENTS = [
  event(1, 1, "a", undefined, 1),
  event(2, 2, "a", 1, 2),
  event(3, 3, "b", undefined, 10),
  event(4, 3, "a", 2, 3),
  event(5, 5, "a", 3, undefined),
];

const shown = (replay: Replay) => Object.fromEntries([...replay.entries].map(([key, kept]) => [key, kept.value]));
const at = (second: number) => T0 + second * 1000;

function loaded(): Replay {
  const replay = new Replay();
  replay.seed([["b", { value: 10, at: at(3) }]]);
  replay.prepend(EVENTS);
  return replay;
}

test("every moment of the journal can be shown, in any order", () => {
  const replay = loaded();
  const expected: [number, object][] = [
    [4, { a: 3, b: 10 }],
    [2.5, { a: 2 }],
    [9, { b: 10 }],
    [0, {}],
    [3, { a: 3, b: 10 }],
    [1, { a: 1 }],
    [5, { b: 10 }],
  ];
  for (const [second, entries] of expected) {
    replay.to(at(second));
    expect(shown(replay), `at ${second}`).toEqual(entries);
  }
});

test("what has changed is told, and nothing else", () => {
  const replay = loaded();
  expect([...replay.to(at(4))]).toEqual(["a"]);
  expect([...replay.to(at(4.5))]).toEqual([]);
  expect([...replay.to(at(2))].sort()).toEqual(["a", "b"]);
  expect(replay.atEnd).toBe(false);
  expect([...replay.toEnd()].sort()).toEqual(["a", "b"]);
  expect(replay.atEnd).toBe(true);
});

test("entries know when they were written, back in time too", () => {
  const replay = loaded();
  replay.to(at(2.5));
  expect(replay.entries.get("a")?.at).toBe(at(2));
  replay.to(at(1.5));
  expect(replay.entries.get("a")?.at).toBe(at(1));
});

test("newer events change what is shown only if the newest was shown", () => {
  const replay = loaded();
  const newer = [event(6, 6, "c", undefined, 7)];
  expect([...replay.append(newer)]).toEqual(["c"]);
  expect(shown(replay)).toEqual({ b: 10, c: 7 });
  replay.to(at(4));
  expect([...replay.append([event(7, 7, "c", 7, 8)])]).toEqual([]);
  expect(shown(replay)).toEqual({ a: 3, b: 10 });
  replay.toEnd();
  expect(shown(replay)).toEqual({ b: 10, c: 8 });
  replay.to(at(6));
  expect(replay.entries.get("c")).toEqual({ value: 7, at: at(6) });
});

test("a null is a value, and can be gone back to", () => {
  const replay = new Replay();
  replay.append([event(1, 1, "n", undefined, null), { ...event(2, 2, "n", null, 5), kind: "UPDATED" }]);
  replay.to(at(1));
  expect(replay.entries.has("n")).toBe(true);
  expect(replay.entries.get("n")?.value).toBeNull();
});

test("events that are known already are not taken twice", () => {
  const replay = loaded();
  replay.prepend(EVENTS);
  expect(replay.size).toBe(5);
});

test("a clock that was put back does not stop time", () => {
  const replay = new Replay();
  replay.append([event(1, 10, "a", undefined, 1), event(2, 5, "a", 1, 2)]);
  replay.to(at(7));
  expect(shown(replay)).toEqual({});
  replay.to(at(10));
  expect(shown(replay)).toEqual({ a: 2 });
});

test("no more than so many events are kept; what is shown moves on rather than being wrong", () => {
  const replay = new Replay(10);
  const first = [event(1, 1, "a", undefined, 1)];
  for (let next = 2; next <= 10; next += 1) first.push(event(next, next, "a", next - 1, next));
  replay.append(first);
  replay.to(at(1));
  replay.append([event(11, 11, "a", 10, 11), event(12, 12, "a", 11, 12)]);
  expect(replay.size).toBe(10);
  expect(shown(replay)).toEqual({ a: 2 });
  expect(replay.oldest).toBe(at(3));
  replay.to(at(4));
  expect(shown(replay)).toEqual({ a: 4 });
});

test("the way of a key ends where it was added", () => {
  const replay = loaded();
  replay.to(at(4));
  expect(replay.past("a", 10)).toEqual([1, 2, 3]);
  expect(replay.past("a", 2)).toEqual([2, 3]);
  expect(replay.past("nobody", 2)).toEqual([]);
  replay.toEnd();
  expect(replay.past("a", 10)).toEqual([]);
});
