import { expect, test } from "vitest";
import { parsedExactly } from "../../logic/exactJson";
import { cellText, gridRows, isNumeric, sortValue, widthOf } from "./grid";

const ANSWER = {
  columns: [
    ["vin", "string"],
    ["n", "bigint"],
  ],
  rows: [
    ["A", 2],
    ["A", 2],
    [null, { k: [1] }],
  ],
  more: false,
};

test("equal rows have places of their own", () => {
  expect(gridRows(ANSWER).map((row) => row.place)).toEqual([0, 1, 2]);
});

test("values as text, and as what they are sorted by", () => {
  expect(cellText({ k: [1] })).toBe('{"k":[1]}');
  expect(cellText(true)).toBe("true");
  expect(sortValue(10)).toBe(10);
  expect(sortValue(null)).toBeNull();
  expect(sortValue(false)).toBe("false");
});

test("numbers by Spark's names, and by those of our SQL", () => {
  expect(["bigint", "decimal(10,2)", "string", "array<int>"].map(isNumeric)).toEqual([true, true, false, false]);
  expect(["INTEGER", "REAL", "DECIMAL(38, 2)", "VARCHAR"].map(isNumeric)).toEqual([true, true, true, false]);
});

test("columns are as wide as what is in them, within bounds", () => {
  expect(widthOf(ANSWER.columns, gridRows(ANSWER), 0)).toBe("minmax(16ch, 1fr)");
  expect(widthOf([["x", "string"]], [{ place: 0, values: ["y".repeat(500)] }], 0)).toBe("minmax(44ch, 1fr)");
});

test("large numbers keep their digits, and are sorted as numbers", () => {
  const large = parsedExactly("9007199254740993");
  expect([cellText(large), sortValue(large)]).toEqual(["9007199254740993", 9007199254740992]);
});
