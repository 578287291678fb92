import { expect, test } from "vitest";
import type { OptionInForce } from "../../../api/client";
import { changesOf, matchingOptions, shownValue } from "./options";

test("values are shown as people read them", () => {
  expect(shownValue({ name: "snapshot_interval", value: 10_000 })).toBe("10.0 s");
  expect(shownValue({ name: "partitions", value: 10_000 })).toBe("10000");
  expect(shownValue({ name: "timeout", value: null })).toBe("–");
  expect(shownValue({ name: "renamed", value: {} })).toBe("none");
  expect(shownValue({ name: "renamed", value: { a: "b" } })).toBe('{"a":"b"}');
  expect(shownValue({ name: "auto_scaling", value: false })).toBe("false");
});

test("rows without a name or a value ask for nothing", () => {
  expect(
    changesOf([
      { key: 0, name: "timeout", value: " 5m " },
      { key: 1, name: "", value: "x" },
      { key: 2, name: "partitions", value: "" },
    ]),
  ).toEqual({ timeout: "5m" });
});

test("options are found by words in any order, and by origin", () => {
  const options: OptionInForce[] = [
    { name: "timeout", value: null, origin: "default", meaning: "A job that has run so long is ended." },
    { name: "partitions", value: 4, origin: "asked", meaning: "Shuffle partitions." },
  ];
  const names = (words: string, origin: string) => matchingOptions(options, words, origin).map((option) => option.name);
  expect(names("ended JOB", "all")).toEqual(["timeout"]);
  expect(names("", "asked")).toEqual(["partitions"]);
  expect(names("job", "asked")).toEqual([]);
});
