import { expect, test } from "vitest";
import { curlLine } from "../../logic/commands";
import {
  configureCommand,
  deleteCommand,
  eventCommand,
  firstPutLine,
  getCommand,
  putCommand,
  searchCommand,
} from "./commands";

test("keys and values that look like options are none", () => {
  expect(getCommand("m", "k").cli).toEqual(["pitstop", "map", "get", "m", "k"]);
  expect(getCommand("m", "--help").cli).toEqual(["pitstop", "map", "get", "--", "m", "--help"]);
  expect(putCommand("m", "k", " -3 ", 2).cli.slice(-6)).toEqual(["--expect-version", "2", "--", "m", "k", "-3"]);
});

test("requests carry the key and the version that is expected", () => {
  expect(getCommand("m", "a&b=c/ü").path).toBe("/api/v1/maps/m/entry?key=a%26b%3Dc%2F%C3%BC");
  expect(deleteCommand("m", "k", 7).path).toBe("/api/v1/maps/m/entry?key=k&version=7");
  expect(putCommand("m", 'k"', ' {"a":1}\n', 0).bodyText).toBe('{"entries":{"k\\"":{"a":1}},"expected_version":0}');
  expect(configureCommand("m", 5, 0)).toMatchObject({ method: "PUT", path: "/api/v1/maps/m" });
});

test("an event is the one behind the event before it", () => {
  expect(eventCommand("m", 8).cli).toEqual(["pitstop", "map", "journal", "--after", "7", "--limit", "1", "m"]);
  expect(eventCommand("m", 8).path).toBe("/api/v1/maps/m/journal?after=7&limit=1");
});

test("a search has its condition as it was written", () => {
  expect(searchCommand("m", "a&b = 'c'", "k").path).toBe("/api/v1/maps/m/search?where=a%26b+%3D+%27c%27&prefix=k");
});

test("a value stands in the line for curl to the last digit, as it was written", () => {
  for (const text of ["9007199254740995", "1.0", "12345678901234567890123", '{"a": 1e-7}']) {
    expect(curlLine(putCommand("m", "k", text, 3), "http://h")).toContain(
      `{"entries":{"k":${text}},"expected_version":3}`,
    );
  }
});

test("the line that makes a map is one that a shell reads so; there is none for a name that no map can have", () => {
  expect(firstPutLine("vehicles")).toBe("pitstop map put vehicles KEY VALUE");
  expect(firstPutLine("my map")).toBe("pitstop map put 'my map' KEY VALUE");
  expect(firstPutLine("Über-1")).toBe("pitstop map put 'Über-1' KEY VALUE");
  for (const name of ["", "-x", "a;reboot", "$(reboot)", "a/b", "a ", "a.", "_a", "x".repeat(201)]) {
    expect(firstPutLine(name)).toBeNull();
  }
});
