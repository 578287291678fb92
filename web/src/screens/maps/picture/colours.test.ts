import { expect, test } from "vitest";
import { colouring, css, OTHERS, onScale, PLAIN, scaleOf } from "./colours";

test("numbers have a scale from the least to the most", () => {
  const values = [10, 2, 3, 4, 5, 6, 7, 8, "9", 1];
  const scale = scaleOf(values);
  expect(scale).toEqual({ kind: "numbers", from: 1, to: 10 });
  const colour = colouring(scale);
  expect(colour(1)).toEqual([68, 1, 84]);
  expect(colour(10)).toEqual([253, 231, 37]);
  expect(colour(5.5)).toEqual([33, 145, 140]);
  expect(colour(99)).toEqual([253, 231, 37]);
  expect(colour("no number")).toEqual(OTHERS);
  expect(colour(undefined)).toEqual(OTHERS);
});

test("between two colours of the scale the colour is between them", () => {
  expect(onScale(0.125)).toEqual([64, 42, 112]);
  expect(onScale(-1)).toEqual(onScale(0));
});

test("words have a colour each, the most frequent first, the rest one for all", () => {
  const values = ["beta", "alpha", "alpha", null, undefined, ..."abcdefg".split("")];
  const scale = scaleOf(values);
  if (scale.kind !== "words") throw new Error(scale.kind);
  expect(scale.words.map((each) => [each.word, each.count])).toEqual([
    ["alpha", 2],
    ...["a", "b", "beta", "c", "d", "e", "f"].map((word) => [word, 1]),
  ]);
  expect(scale.others).toBe(1);
  const colour = colouring(scale);
  expect(colour("alpha")).toEqual([0, 114, 178]);
  expect(colour("g")).toEqual(OTHERS);
  expect(colour(null)).toEqual(OTHERS);
});

test("numbers of a few kinds are words, and so are truths", () => {
  expect(scaleOf([1, 2, 1]).kind).toBe("words");
  const scale = scaleOf([true, false, true]);
  expect(colouring(scale)(true)).toEqual([0, 114, 178]);
});

test("nothing to colour by gives one colour", () => {
  expect(scaleOf([null, undefined])).toEqual({ kind: "plain", colour: PLAIN });
  expect(colouring(scaleOf([]))("x")).toEqual(PLAIN);
});

test("colours are written for the page", () => {
  expect(css([1, 2, 3])).toBe("rgb(1 2 3)");
});
