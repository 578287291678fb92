import { expect, test } from "vitest";
import { offsetsOf, placeIn, pointed } from "./place";

const at = (line: number, column: number, endLine = line, endColumn = column) => ({ line, column, endLine, endColumn });

test("places are read out of sentences", () => {
  const sentence = "From line 3, column 8 to line 3, column 13: Column 'colour' not found in any table";
  expect(placeIn(sentence)).toEqual(at(3, 8, 3, 13));
  expect(placeIn("The text ends at line 2, column 5")).toEqual(at(2, 5));
  expect(placeIn("The job 'a' doesn't exist")).toBeNull();
});

test("a place is a part of the text", () => {
  const text = "SELECT\n  colour\nFROM cars";
  const { from, to } = offsetsOf(text, at(2, 3, 2, 8));
  expect(text.slice(from, to)).toBe("colour");
});

test("columns are letters, however JavaScript counts them", () => {
  const text = "SELECT '🚗🚗', colour";
  const { from, to } = offsetsOf(text, at(1, 14, 1, 19));
  expect(text.slice(from, to)).toBe("colour");
});

test("a place behind the end is the end", () => {
  expect(offsetsOf("SELECT", at(1, 7))).toEqual({ from: 6, to: 6 });
  expect(offsetsOf("SELECT", at(9, 1))).toEqual({ from: 6, to: 6 });
});

test("carets stand below what is meant", () => {
  expect(pointed("SELECT 1,\n\tcolour FROM cars", at(2, 2, 2, 7))).toBe("\tcolour FROM cars\n\t^^^^^^");
  expect(pointed("SELECT", at(1, 7))).toBe("SELECT\n      ^");
});

test("of a long line the part around the place is shown", () => {
  const [line = "", carets = ""] = pointed(`SELECT ${"x".repeat(500)}, wrong FROM cars`, at(1, 510, 1, 514)).split(
    "\n",
  );
  expect(line.slice(carets.indexOf("^"), carets.lastIndexOf("^") + 1)).toBe("wrong");
  expect(line.length).toBeLessThan(110);
});
