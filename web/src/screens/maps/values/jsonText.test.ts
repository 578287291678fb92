import { expect, test } from "vitest";
import { jsonFault, parsedExactly, partOf, pretty } from "./jsonText";

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

test("numbers that can be counted to stay numbers", () => {
  expect(parsedExactly('{"a": [1, -2.5, 9007199254740991], "b": "x"}')).toEqual({
    a: [1, -2.5, 9007199254740991],
    b: "x",
  });
});
