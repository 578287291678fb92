import { expect, test } from "vitest";
import { parsedExactly } from "../../../logic/exactJson";
import { differences, shortValue } from "./difference";

const said = (before: unknown, after: unknown) =>
  differences(before, after).map((one) => [one.kind, one.path, one.before, one.after]);

test("only what differs is told, by its place", () => {
  const before = { vin: "A", position: { lat: 44.1, lon: -93 }, codes: ["P0101"] };
  const after = { vin: "A", position: { lat: 44.2, lon: -93 }, codes: ["P0101", "P0420"], ok: null };
  expect(said(before, after)).toEqual([
    ["changed", "position.lat", 44.1, 44.2],
    ["added", "codes.1", undefined, "P0420"],
    ["added", "ok", undefined, null],
  ]);
});

test("a new entry adds each of its fields, a removed one takes them away", () => {
  expect(said(undefined, { a: 1, b: [2] })).toEqual([
    ["added", "a", undefined, 1],
    ["added", "b.0", undefined, 2],
  ]);
  expect(said({ a: 1 }, undefined)).toEqual([["removed", "a", 1, undefined]]);
});

test("values that have no fields are compared as they are", () => {
  expect(said(1, "1")).toEqual([["changed", "", 1, "1"]]);
  expect(said(null, undefined)).toEqual([["removed", "", null, undefined]]);
  expect(said(undefined, {})).toEqual([["added", "", undefined, {}]]);
  expect(said({}, [])).toEqual([["changed", "", {}, []]]);
  expect(said([1], { 0: 1 })).toEqual([["changed", "", [1], { 0: 1 }]]);
  expect(said({}, {})).toEqual([]);
});

test("a field that every object has by birth is no field", () => {
  expect(said({}, JSON.parse('{"constructor": 1, "__proto__": 2}'))).toEqual([
    ["added", "constructor", undefined, 1],
    ["added", "__proto__", undefined, 2],
  ]);
});

test("no more than asked for, and none too deep to follow", () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, place) => [`f${place}`, place]));
  expect(differences({}, many, 7)).toHaveLength(7);
  const deep = (leaf: number) => {
    let value: unknown = leaf;
    for (let level = 0; level < 100; level += 1) value = { in: value };
    return value;
  };
  expect(differences(deep(1), deep(1))).toEqual([]);
  expect(differences(deep(1), deep(2))).toHaveLength(1);
});

test("short values are cut", () => {
  expect(shortValue({ a: "xxxxxxxxxx" }, 6)).toBe('{"a":"…');
  expect(shortValue(undefined)).toBe("nothing");
});

test("numbers are shown to the last digit, and are no texts of the same signs", () => {
  const [large, text] = ["9007199254740993", '"9007199254740993"'].map(parsedExactly);
  const shown = differences({ id: large }, { id: text }).map((one) => [shortValue(one.before), shortValue(one.after)]);
  expect(shown).toEqual([["9007199254740993", '"9007199254740993"']]);
  expect(differences(large, parsedExactly("9007199254740992"))).toHaveLength(1);
  expect(differences(large, parsedExactly("9007199254740993"))).toEqual([]);
  expect(shortValue(parsedExactly("[12345678901234567890123, 1.0]"))).toBe("[12345678901234567890123,1.0]");
});
