import { expect, test } from "vitest";
import { optionsIn } from "./knownOptions";

const properties = {
  partitions: { description: "Shuffle partitions." },
  renamed: { description: "x" },
  allow_shared: { examples: ["true", "false"] },
  timeout: {},
};
const schema = { properties: { options: { properties } } };
const description = {
  paths: {
    "/api/v1/jobs/{job}/update": { post: { requestBody: { content: { "application/json": { schema } } } } },
  },
};

test("options come from the description of the request", () => {
  expect(optionsIn(description, "update")).toEqual([
    { name: "partitions", meaning: "Shuffle partitions.", values: [] },
    { name: "allow_shared", meaning: "", values: ["true", "false"] },
    { name: "timeout", meaning: "", values: [] },
  ]);
});

test("a description of another form has none", () => {
  expect(optionsIn(description, "submit")).toEqual([]);
  expect(optionsIn(null, "submit")).toEqual([]);
});
