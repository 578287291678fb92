import { expect, test } from "vitest";
import { type Ending, endingOf } from "./ending";

const asked: Ending = { phase: "asked", left: null };
const passive = (...ending: string[]) => ({ state: "PASSIVE", ending });

test("nothing has begun before the server has said yes", () => {
  expect(endingOf(asked, { begun: false, cluster: passive("a"), connection: "lost" })).toEqual(asked);
});

test("jobs leave the list one by one, and then the server is clean", () => {
  let now = endingOf(asked, { begun: true, cluster: passive("a", "b"), connection: "live" });
  expect(now).toEqual({ phase: "ending", left: ["a", "b"] });
  now = endingOf(now, { begun: true, cluster: passive(), connection: "live" });
  now = endingOf(now, { begun: true, cluster: passive(), connection: "lost" });
  expect(now).toEqual({ phase: "clean", left: [] });
});

test("a server that goes while jobs still run is not called clean", () => {
  const now = endingOf(asked, { begun: true, cluster: passive("a"), connection: "live" });
  expect(endingOf(now, { begun: true, cluster: passive("a"), connection: "lost" })).toEqual({
    phase: "lost",
    left: ["a"],
  });
});

test("what the server said last counts, though its connection was seen to break before", () => {
  const lost = endingOf(asked, { begun: true, cluster: passive("a"), connection: "lost" });
  expect(endingOf(lost, { begun: true, cluster: passive(), connection: "lost" })).toEqual({ phase: "clean", left: [] });
});

test("of a server that went before it said a word, nothing is known", () => {
  const active = { state: "ACTIVE", ending: [] };
  const lost = endingOf(asked, { begun: true, cluster: active, connection: "lost" });
  expect(lost).toEqual({ phase: "lost", left: null });
  expect(endingOf(lost, { begun: true, cluster: active, connection: "live" })).toEqual(lost);
});

test("a new server does not undo what was seen", () => {
  const clean: Ending = { phase: "clean", left: [] };
  expect(endingOf(clean, { begun: true, cluster: { state: "ACTIVE", ending: [] }, connection: "live" })).toBe(clean);
});
