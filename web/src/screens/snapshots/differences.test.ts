import { expect, test } from "vitest";
import { rowsOf } from "./differences";

test("numbers say by how much they have grown", () => {
  expect(rowsOf([{ what: "epoch", a: 17, b: 3 }])).toEqual([{ what: "epoch", a: "17", b: "3", grown: -14, parts: [] }]);
});

test("what is not there is a dash, and has not grown", () => {
  expect(rowsOf([{ what: "stage speed: rows", a: null, b: 3 }])[0]).toMatchObject({ a: "–", b: "3", grown: null });
});

test("moments say that they are UTC", () => {
  const [row] = rowsOf([{ what: "created", a: "2026-11-23T01:33:25.287", b: null }]);
  expect(row).toMatchObject({ a: "2026-11-23T01:33:25.287Z", b: "–" });
  expect(rowsOf([{ what: "offset of x", a: "2026-11-23T01:33:25", b: null }])[0]?.a).toBe("2026-11-23T01:33:25");
});

test("of two JSON values the parts that differ are told", () => {
  const a = '{"files": {"x.csv": [1, "p"], "y.csv": [2, "q"], "gone.csv": [3]}, "same": {"k": 1}}';
  const b = '{"files": {"x.csv": [5, "p"], "y.csv": [2, "q"], "new.csv": [4]}, "same": {"k": 1}}';
  expect(rowsOf([{ what: "offset of alpha", a, b }])[0]?.parts).toEqual([
    { path: "files · x.csv", a: '[1,"p"]', b: '[5,"p"]' },
    { path: "files · gone.csv", a: "[3]", b: "–" },
    { path: "files · new.csv", a: "–", b: "[4]" },
  ]);
});

test("text that is no JSON has no parts", () => {
  expect(rowsOf([{ what: "versions", a: "spark 4", b: "spark 5" }])[0]?.parts).toEqual([]);
  expect(rowsOf([{ what: "offset", a: "12", b: "13" }])[0]?.parts).toEqual([]);
});
