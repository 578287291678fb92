import { expect, test } from "vitest";
import { type Names, offersAt } from "./completion";

const NAMES: Names = {
  tables: ["cars", "my trips", "fast", "order"],
  columns: { cars: ["__key", "owner"], "my trips": ["vin", "Total km"] },
  jobs: ["fleet", "my-job"],
  snapshots: ["before-friday"],
};
/** What is offered where `|` stands. */
const at = (text: string) => {
  const [before = "", after = ""] = text.split("|");
  const found = offersAt(before, before + after, NAMES);
  return found && { typed: found.typed, texts: found.offers.map((offer) => offer.text) };
};

test("names stand where one is named, in quotes where they need them", () => {
  expect(at("DROP JOB |")).toEqual({ typed: 0, texts: ["fleet", '"my-job"'] });
  expect(at("DROP JOB IF EXISTS fl|")).toEqual({ typed: 2, texts: ["fleet", '"my-job"'] });
  expect(at('SELECT * FROM SNAPSHOT "bef|')).toEqual({ typed: 4, texts: ['"before-friday"'] });
  expect(at("SELECT * FROM |")?.texts.slice(0, 4)).toEqual(["cars", '"my trips"', "fast", '"order"']);
  expect(at("SELECT * FROM TABLE(|")?.texts).toContain("cars");
  expect(at("CREATE OR REPLACE SNAPSHOT x|")?.texts).not.toContain('"before-friday"');
});

test("columns belong to a table, or to what its alias stands for", () => {
  expect(at("SELECT cars.ow| FROM cars")).toEqual({ typed: 2, texts: ["__key", "owner"] });
  expect(at("SELECT c.| FROM cars AS c")?.texts).toEqual(["__key", "owner"]);
  expect(at('SELECT t.| FROM cars JOIN "my trips" t ON true')?.texts).toEqual(["vin", '"Total km"']);
  expect(at("SELECT * FROM information_schema.|")?.texts).toContain("mappings");
  expect(at("SELECT nothing.| FROM cars")?.texts).toEqual([]);
});

test("of columns those of the tables that the text names come first, and no others", () => {
  const found = at("SELECT o| FROM cars")?.texts ?? [];
  expect(found.slice(0, 2)).toEqual(["__key", "owner"]);
  expect(found).not.toContain("vin");
  expect(found).toContain("ORDER");
});

test("nothing is offered within texts, comments and numbers, nor unasked", () => {
  expect(at("SELECT 'fro|")).toBeNull();
  expect(at("SELECT 'it''s fro|")).toBeNull();
  expect(at("-- fro|")).toBeNull();
  expect(at("/* fro|")).toBeNull();
  expect(at("SELECT 1|")?.texts ?? []).toEqual([]);
  expect(at("SELECT 'a', o| FROM cars")?.texts).toContain("owner");
  expect(at("-- all cars\nSELECT o| FROM cars")?.texts).toContain("owner");
  expect(at("SELECT |")?.texts).toEqual([]);
});
