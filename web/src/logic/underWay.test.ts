import { expect, test } from "vitest";
import { UnderWay } from "./underWay";

test("what is under way does not begin again", () => {
  const way = new UnderWay();
  expect(way.begin("save", 1000)).toBe(true);
  expect(way.begin("save", 1000)).toBe(false);
  expect(way.begin("save", 60_000)).toBe(false);
  way.end("save");
  expect(way.begin("save", 60_000)).toBe(true);
});

test("an answer between the two clicks of a double one does not let the second through", () => {
  const way = new UnderWay();
  way.begin("save", 1000);
  way.end("save");
  expect(way.begin("save", 1200)).toBe(false);
  expect(way.begin("save", 1600)).toBe(true);
});

test("what was refused may be asked again at once", () => {
  const way = new UnderWay();
  way.begin("sign in", 1000);
  way.fail("sign in");
  expect(way.begin("sign in", 1001)).toBe(true);
});

test("another thing may be asked meanwhile", () => {
  const way = new UnderWay();
  expect([way.begin("delete a", 0), way.begin("delete b", 0), way.begin("delete a", 0)]).toEqual([true, true, false]);
});
