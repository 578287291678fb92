import { expect, test } from "vitest";
import { titleOf } from "./title";

const names: Record<string, string> = { "0a-1": "speeds" };
const title = (path: string) => titleOf(path, (nameOrId) => names[nameOrId] ?? nameOrId);

test("a place is called by its name", () => {
  expect(title("/")).toBe("Overview · Pitstop");
  expect(title("/cluster")).toBe("Cluster · Pitstop");
  expect(title("/sql")).toBe("SQL · Pitstop");
});

test("a thing is called by its own, a job never by its number if it has a name", () => {
  expect(title("/maps/vehicles")).toBe("vehicles · Pitstop");
  expect(title("/jobs/0a-1/update")).toBe("speeds · Pitstop");
  expect(title("/snapshots/%C3%A4%2Fb")).toBe("ä/b · Pitstop");
  expect(title("/maps/%E0%A4%A")).toBe("%E0%A4%A · Pitstop");
});
