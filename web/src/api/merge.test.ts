import { expect, test } from "vitest";
import { merged } from "./merge";

type Item = { id: string; size: number };
const id = (item: Item) => item.id;
const items: Item[] = [
  { id: "a", size: 1 },
  { id: "b", size: 2 },
];

test("a changed item keeps its place", () => {
  expect(merged(items, [{ key: "a", value: { id: "a", size: 9 } }], id)).toEqual([{ id: "a", size: 9 }, items[1]]);
});

test("an item that is gone leaves the list", () => {
  expect(merged(items, [{ key: "a", value: null }], id)).toEqual([items[1]]);
});

test("a new item comes last, once, with its newest value", () => {
  const changes = [
    { key: "c", value: { id: "c", size: 1 } },
    { key: "c", value: { id: "c", size: 2 } },
  ];
  expect(merged(items, changes, id)).toEqual([...items, { id: "c", size: 2 }]);
});

test("what came and went in one go is not there", () => {
  const changes = [
    { key: "c", value: { id: "c", size: 1 } },
    { key: "c", value: null },
  ];
  expect(merged(items, changes, id)).toEqual(items);
});

test("no change gives the very list", () => {
  expect(merged(items, [], id)).toBe(items);
});
