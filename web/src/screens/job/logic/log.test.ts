import { expect, test } from "vitest";
import { appended, emptyLines, gravity, KEEP_LINES, linesBefore, matchingLines, prepended, told } from "./log";

const page = (lines: string[], next: number, lost = 0) => ({ lines, next, lost });
const raws = (lines: { raw: string }[]) => lines.map((line) => line.raw);

test("pages follow one another, and lines are counted through", () => {
  const found = appended(appended(emptyLines(0), page(["a", "b"], 4)), page(["c"], 6));
  expect(found.lines).toEqual([
    { number: 1, raw: "a" },
    { number: 2, raw: "b" },
    { number: 3, raw: "c" },
  ]);
  expect([found.from, found.next]).toEqual([0, 6]);
});

test("who begins within a line leaves out its rest", () => {
  const found = appended(emptyLines(100), page(["est", "whole"], 110), true);
  expect(raws(found.lines)).toEqual(["whole"]);
  // "whole" and its end are the last six bytes.
  expect(found.from).toBe(104);
});

test("what the server has no more is told in bytes", () => {
  const found = appended(appended(emptyLines(0), page(["a"], 2)), page(["z"], 500, 496));
  expect(found.lostBytes).toBe(496);
});

test("of many lines the newest are kept, and the others counted", () => {
  const many = Array.from({ length: KEEP_LINES + 3 }, (_, index) => String(index % 10));
  const found = appended(emptyLines(0), page(many, 2 * many.length));
  expect(found.lines.length).toBe(KEEP_LINES);
  expect(found.forgotten).toBe(3);
  expect(found.from).toBe(6);
  expect(found.lines[0]?.number).toBe(4);
});

test("earlier lines come before, and the newest give way", () => {
  const some = appended(emptyLines(10), page(["x"], 12));
  expect(prepended(some, ["ü"]).lines).toEqual([
    { number: 0, raw: "ü" },
    { number: 1, raw: "x" },
  ]);
  const many = appended(emptyLines(10), page(Array(KEEP_LINES).fill("y"), 10 + 2 * KEEP_LINES));
  const found = prepended(many, ["a", "b"]);
  expect(raws(found.lines.slice(0, 3))).toEqual(["a", "b", "y"]);
  expect(found.lines.length).toBe(KEEP_LINES);
  expect(found.next).toBe(10 + 2 * KEEP_LINES - 4);
  expect(found.from).toBe(6);
});

test("earlier pages end where the lines that are known begin", () => {
  // From 10 on: the rest "st" of a line, then "aa" at 13, "bb" at 16, and "known" at 19.
  const pages = [page(["st", "aa"], 16), page(["bb", "known"], 25)];
  expect(linesBefore(pages, 10, 19)).toEqual(["aa", "bb"]);
  expect(linesBefore([page(["first", "known"], 12)], 0, 6)).toEqual(["first"]);
});

test("a line of ours is told in its parts, all others as they are", () => {
  expect(told('{"time": "2026-11-23T01:32:52,056", "level": "INFO", "logger": "pitstop", "msg": "up"}')).toEqual({
    time: "2026-11-23 01:32:52.056",
    level: "INFO",
    logger: "pitstop",
    text: "up",
  });
  expect(told('{"msg": "x", "error": "Traceback", "job": "j", "rows": 3}').text).toBe("x rows=3\nTraceback");
  expect(told("{broken").text).toBe("{broken");
  expect(told("<script>").level).toBeNull();
});

test("lines are found by text and by level", () => {
  const lines = ['{"level": "INFO", "msg": "One"}', '{"level": "WARNING", "msg": "Two"}', "plain"].map(
    (raw, number) => ({
      number,
      raw,
    }),
  );
  expect(raws(matchingLines(lines, "ONE", 0))).toEqual([lines[0]?.raw]);
  expect(raws(matchingLines(lines, "", 3))).toEqual([lines[1]?.raw]);
  expect(matchingLines(lines, "", 2).length).toBe(3);
  expect(gravity("critical")).toBe(5);
});
