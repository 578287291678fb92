import { expect, test } from "vitest";
import { filters, readFilters, savedAs, withFilter } from "./saved";

const broken = { title: "broken", filter: { status: "FAILED" } };

test("a saved filter has its title once, and they stand in the order of their titles", () => {
  const saved = withFilter(withFilter([broken], "all fleets", { name: "fleet" }), "broken", {
    status: "FAILED",
    name: "x",
  });
  expect(saved).toEqual([
    { title: "all fleets", filter: { name: "fleet" } },
    { title: "broken", filter: { name: "x", status: "FAILED" } },
  ]);
});

test("what is shown now is known as the saved filter that it is", () => {
  expect(savedAs([broken], { status: "FAILED", name: "" })).toBe(broken);
  expect(savedAs([broken], { status: "FAILED", name: "a" })).toBeUndefined();
  expect(savedAs([broken], {})).toBeUndefined();
});

test("what leaves nothing out is no filter", () => {
  expect([filters({}), filters({ name: "" }), filters({ sort: "-submitted" })]).toEqual([false, false, true]);
});

test("what somebody else has written into the browser is left out", () => {
  expect(
    readFilters(JSON.stringify([broken, 1, null, { title: 2, filter: {} }, { title: "x", filter: null }])),
  ).toEqual([broken]);
  expect(readFilters('[{"title":"t","filter":{"name":7,"status":"FAILED","more":"x"}}]')).toEqual([
    { title: "t", filter: { status: "FAILED" } },
  ]);
  for (const text of [null, "", "{", "7", "{}"]) expect(readFilters(text)).toEqual([]);
});
