import { expect, test } from "vitest";
import type { StoredEntry } from "./calls";
import { standingOf } from "./standing";

const BASE: StoredEntry = {
  key: "k",
  text: "1",
  version: 1,
  created: "2026-11-23T12:00:00Z",
  updated: "",
  expires: null,
};

test("an entry that nobody has touched is the same, be it read again", () => {
  expect(standingOf(BASE, { ...BASE })).toBe("same");
});

test("one that was written meanwhile is newer, also if it was deleted before and has the same version", () => {
  expect(standingOf(BASE, { ...BASE, version: 2 })).toBe("newer");
  expect(standingOf(BASE, { ...BASE, created: "2026-11-23T12:00:09Z" })).toBe("newer");
});

test("one that is gone was deleted", () => {
  expect(standingOf(BASE, null)).toBe("deleted");
});
