import { expect, test } from "vitest";
import { NO_ARTIFACT } from "../artifact";
import {
  carried,
  type Draft,
  draftOptions,
  draftRefusal,
  draftWords,
  EMPTY_DRAFT,
  mayDrop,
  notCarried,
  optionsBefore,
} from "./draft";

const DRAFT: Draft = {
  artifact: { ...NO_ARTIFACT, from: "place", place: "/j.py", entry: "j:f", args: "x" },
  options: [
    { id: 1, name: "partitions", value: "4" },
    { id: 2, name: "", value: "left" },
  ],
  renamed: { speeds: "speed" },
};

test("options with a name are sent, and the renamed stages with them", () => {
  expect(draftOptions(DRAFT)).toEqual({ partitions: "4", renamed: { speeds: "speed" } });
  expect(draftOptions(EMPTY_DRAFT)).toEqual({});
});

test("a version does not inherit where the one before started from", () => {
  expect(optionsBefore({ partitions: 4, initial_snapshot: "s", renamed: { a: "b" } })).toEqual({ partitions: 4 });
});

test("what is missing is said", () => {
  expect(draftRefusal(EMPTY_DRAFT)).toBe("Choose the code first.");
  expect(draftRefusal({ ...DRAFT, options: [{ id: 1, name: "timeout", value: " " }] })).toBe(
    "Give the option timeout a value, or remove it.",
  );
  expect(draftRefusal(DRAFT)).toBeNull();
});

test("words of the command line", () => {
  expect(draftWords(DRAFT)).toEqual({
    options: ["-c", "j:f", "--renamed", "speeds=speed", "-O", "partitions=4"],
    last: ["/j.py", "x"],
  });
});

test("what may be dropped is sent with this version, and named on the command line", () => {
  const dropping = mayDrop(mayDrop(DRAFT, ["old"]), ["pings", "old"]);
  expect(draftOptions(dropping).allow_drop).toEqual(["old", "pings"]);
  expect(draftWords(dropping).options).toContain("--allow-drop=old,pings");
  expect(optionsBefore({ allow_drop: ["old"] })).toEqual({});
});

test("each state has one heir, and each stage inherits once", () => {
  expect(carried(DRAFT, "speeds2", "speed").renamed).toEqual({ speeds2: "speed" });
  expect(carried(DRAFT, "speeds", "counts").renamed).toEqual({ speeds: "counts" });
  expect(carried(DRAFT, "a", "b").renamed).toEqual({ speeds: "speed", a: "b" });
  expect(notCarried(DRAFT, "speeds").renamed).toEqual({});
});
