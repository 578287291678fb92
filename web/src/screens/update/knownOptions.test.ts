import { expect, test } from "vitest";
import { optionsIn } from "./knownOptions";

const properties = { partitions: { description: "Shuffle partitions." }, renamed: { description: "x" }, timeout: {} };
const schema = { properties: { options: { properties } } };
const description = {
  paths: {
    "/api/v1/jobs/{job}/update": { post: { requestBody: { content: { "application/json": { schema } } } } },
  },
};

test("options come from the description of the request", () => {
  expect(optionsIn(description, "update")).toEqual([
    { name: "partitions", meaning: "Shuffle partitions." },
    { name: "timeout", meaning: "" },
  ]);
});

test("a description of another form has none", () => {
  expect(optionsIn(description, "submit")).toEqual([]);
  expect(optionsIn(null, "submit")).toEqual([]);
});
