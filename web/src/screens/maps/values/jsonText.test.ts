import { expect, test } from "vitest";
import { jsonFault, partOf, pretty } from "./jsonText";

test("each field stands on its line, and every digit stays", () => {
  expect(pretty('{"id":12345678901234567890,"time":1.0,"none":[],"in":{},"list":[1,{"a":"x:,{\\"}"}]}')).toBe(
    [
      "{",
      '  "id": 12345678901234567890,',
      '  "time": 1.0,',
      '  "none": [],',
      '  "in": {},',
      '  "list": [',
      "    1,",
      "    {",
      '      "a": "x:,{\\"}"',
      "    }",
      "  ]",
      "}",
    ].join("\n"),
  );
  expect(pretty("  1.50 ")).toBe("1.50");
});

test("a part is given as it is written", () => {
  const text = '[{"key":"a","value":{"n":1.0,"deep":[1, 2]},"version":3},{"value":"value"}]';
  expect(partOf(text, [0, "value"])).toBe('{"n":1.0,"deep":[1, 2]}');
  expect(partOf(text, [0, "value", "deep", 1])).toBe("2");
  expect(partOf(text, [1, "value"])).toBe('"value"');
  expect(partOf(text, [])).toBe(text);
  expect(partOf(text, [2])).toBeUndefined();
  expect(partOf(text, [0, "nothing"])).toBeUndefined();
  expect(partOf("[]", [0, "value"])).toBeUndefined();
  expect(partOf("3", ["value"])).toBeUndefined();
});

test("names with escaped signs are the same names", () => {
  expect(partOf('{"\\u0061":1}', ["a"])).toBe("1");
});

test("what is no JSON is told with its place", () => {
  expect(jsonFault('{"a": 1}')).toBeNull();
  expect(jsonFault("   ")).toContain("Nothing is written");
  expect(jsonFault('{\n  "a": 1,\n  b\n}')).toMatch(/^Line 3, column 3: /);
  expect(jsonFault("{")).not.toBeNull();
});

test("what the server would refuse is told before it is sent", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  expect(jsonFault(nested(199))).toBeNull();
  expect(jsonFault(nested(200))).toBe("Line 1, column 200: here are more than 199 brackets within each other.");
  expect(jsonFault(nested(3000))).toContain("brackets");
  for (const text of ['"\\ud800"', '"\\udc00\\ud800"', '{"\\ud800": 1}', '"\ud800"']) {
    expect(jsonFault(text)).toContain("one half of a surrogate pair");
  }
  expect(jsonFault('"\\ud83d\\ude00 😀 \\\\ud800"')).toBeNull();
  expect(jsonFault('{\n  "a": -1e999\n}')).toBe("Line 2, column 8: this number is too large.");
  for (const text of ["1e308", "1e-999", '"1e999"', `1${"0".repeat(400)}`]) expect(jsonFault(text)).toBeNull();
  expect(jsonFault("9".repeat(4301))).toContain("more than 4300 digits");
});
