import { expect, test } from "vitest";
import type { MapEntry } from "../../../api/client";
import { searchWords } from "./searched";

const entries = [{ key: "a" }, { key: "b" }] as MapEntry[];

test("a search says how many entries it has looked at, and whether it came to the end", () => {
  expect(searchWords({ entries, next: null, lookedAt: 312 }, false)).toBe("2 found among 312 entries, to the end");
  expect(searchWords({ entries: [], next: null, lookedAt: 1 }, false)).toBe("0 found among 1 entry, to the end");
});

test("one that has stopped says where, and that there may be more", () => {
  const said = searchWords({ entries, next: "k9999", lookedAt: 10_000 }, true);
  expect(said).toBe("2 found among 10,000 more entries: stopped at k9999, there may be more");
});
