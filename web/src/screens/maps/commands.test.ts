import { expect, test } from "vitest";
import { configureCommand, deleteCommand, getCommand, putCommand } from "./commands";

test("keys and values that look like options are none", () => {
  expect(getCommand("m", "k").cli).toEqual(["pitstop", "map", "get", "m", "k"]);
  expect(getCommand("m", "--help").cli).toEqual(["pitstop", "map", "get", "--", "m", "--help"]);
  expect(putCommand("m", "k", " -3 ", 2).cli.slice(-6)).toEqual(["--expect-version", "2", "--", "m", "k", "-3"]);
});

test("requests carry the key and the version that is expected", () => {
  expect(getCommand("m", "a&b=c/ü").path).toBe("/api/v1/maps/m/entry?key=a%26b%3Dc%2F%C3%BC");
  expect(deleteCommand("m", "k", 7).path).toBe("/api/v1/maps/m/entry?key=k&version=7");
  expect(putCommand("m", "k", '{"a":1}', 0).body).toEqual({ entries: { k: { a: 1 } }, expected_version: 0 });
  expect(putCommand("m", "k", "{", 0).body).toEqual({ entries: { k: "{" }, expected_version: 0 });
  expect(configureCommand("m", 5, 0)).toMatchObject({ method: "PUT", path: "/api/v1/maps/m" });
});
