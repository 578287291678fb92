import { expect, test } from "vitest";
import { choiceOf, withChoice } from "./remembered";

const PLACE = { longitude: "pos.lon", latitude: "pos.lat" };

test("what was chosen for a map is added to, and is that map's alone", () => {
  const first = withChoice(null, "fleet", PLACE);
  const both = withChoice(withChoice(first, "fleet", { colour: "state" }), "ships", { faults: null });
  expect(choiceOf(both, "fleet")).toEqual({ ...PLACE, colour: "state" });
  expect(choiceOf(both, "ships")).toEqual({ faults: null });
  expect(choiceOf(both, "planes")).toEqual({});
});

test("a colour that was taken away is forgotten", () => {
  const text = withChoice(withChoice(null, "fleet", { colour: "state" }), "fleet", { colour: undefined });
  expect(choiceOf(text, "fleet")).toEqual({});
});

test("maps called as what every object has by birth are maps as others", () => {
  expect(choiceOf("{}", "constructor")).toEqual({});
  expect(choiceOf(withChoice(null, "__proto__", PLACE), "__proto__")).toEqual(PLACE);
});

test("of very many maps the last ones are remembered", () => {
  let text: string | null = null;
  for (let n = 0; n < 60; n++) text = withChoice(text, `map-${n}`, PLACE);
  text = withChoice(text, "map-10", { colour: "state" });
  expect(Object.keys(JSON.parse(text)).length).toBe(50);
  expect(choiceOf(text, "map-9")).toEqual({});
  expect(choiceOf(text, "map-59")).toEqual(PLACE);
});

test("anything else than what this page writes is nothing", () => {
  for (const text of [null, "", "x{", "3", "[]", '{"a": 3}', '{"a": {"longitude": 1, "latitude": "b", "faults": 2}}']) {
    expect(choiceOf(text, "a")).toEqual({});
  }
});
