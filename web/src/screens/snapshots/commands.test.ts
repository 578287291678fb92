import { expect, test } from "vitest";
import { comparison, fileName, stateQuery } from "./commands";

test("names stay within their part of an address", () => {
  expect(comparison("a/b", "c&d").path).toBe("/api/v1/snapshots/a%2Fb/diff?other=c%26d");
  expect(stateQuery("m", "s", "SELECT 1", 5)).toEqual({
    cli: ["pitstop", "snapshot", "query", "--limit", "5", "m", "s", "SELECT 1"],
    method: "POST",
    path: "/api/v1/snapshots/m/stages/s/query",
    body: { sql: "SELECT 1", limit: 5 },
  });
});

test("a file is called by what is in it", () => {
  expect(fileName("monday", "speed by vin/day")).toBe("monday-speed_by_vin_day.parquet");
});
