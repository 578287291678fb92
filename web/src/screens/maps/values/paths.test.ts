import { expect, test } from "vitest";
import { numberOf, pathSteps, pathText, reader } from "./paths";

test("places are written and read, with dots in their names", () => {
  for (const steps of [["a"], ["a.b", "c"], ["back\\slash", ""], ["coordinates", "0"]]) {
    expect(pathSteps(pathText(steps))).toEqual(steps);
  }
  expect(pathText(["position", "lat"])).toBe("position.lat");
});

test("what is not there is undefined", () => {
  const read = reader("position.lat");
  expect(read({ position: { lat: 1.5 } })).toBe(1.5);
  for (const value of [null, 3, "x", [], {}, { position: null }, { position: {} }]) expect(read(value)).toBeUndefined();
  expect(reader("constructor")({})).toBeUndefined();
  expect(reader("coordinates.1")({ coordinates: [-93, 44] })).toBe(44);
});

test("numbers may be written as texts", () => {
  expect(numberOf(1.5)).toBe(1.5);
  expect(numberOf("-93.2")).toBe(-93.2);
  for (const value of ["", " ", "north", null, undefined, true, [1], Number.NaN]) expect(numberOf(value)).toBeNull();
});
