import { expect, test } from "vitest";
import { hasWords, wordsOf } from "./search";

test.each([
  ["disk full", true],
  ["FULL disk", true],
  ["  disk\tno ", true],
  ["", true],
  ["disk empty", false],
])("a text about a full disk is found by %j: %s", (query, fits) => {
  expect(hasWords("No space: the Disk is full", wordsOf(query))).toBe(fits);
});
